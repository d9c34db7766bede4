/** Type of a view, one place where a widget is shown: what its parts are built with. */
import type { PageFeature } from "../features/plug";
import type { PanelView } from "../panels/panel";
import type { Session } from "../session/session";

export interface View extends PanelView {
  readonly session: Session;
  readonly features: readonly PageFeature[];
}

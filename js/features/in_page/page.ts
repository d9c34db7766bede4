/** The page's half of training in the page, and all of it but the trainer's worker (js/trainer). */
import type { PageFeature } from "../plug";
import { PageTraining } from "./page_training";

export const inPage: PageFeature = { between: PageTraining };

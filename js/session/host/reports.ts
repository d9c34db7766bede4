/** What the show host reports of the match: how it stands, its finished games, its recordings. */
import type { Model, SavedSnapshot } from "../../contract/model";
import type { Episode, FromWorker, Recording, RendererKind, Snapshot } from "../../contract/protocol";
import type { Events, SessionEvents, ShowState } from "../events";
import type { Thoughts } from "../thoughts";

const NO_GOAL = "No goal in two minutes of play. The match continues from here.";

interface Ends {
  readonly model: Pick<Model, "get">;
  readonly events: Events<SessionEvents>;
  readonly thoughts: Pick<Thoughts, "receive">;
}

export class Reports {
  state: ShowState;
  scores: readonly Episode[] = []; // the last finished games
  renderer: RendererKind = "canvas2d";
  private readonly recorders: ((recording: Recording) => void)[] = []; // who asked for it, in order

  /** `snapshot` is called with each one. */
  constructor(
    private readonly ends: Ends,
    saved: SavedSnapshot | null,
    playing: boolean,
    private readonly snapshot: (snapshot: Snapshot) => void,
  ) {
    const { tick, score, version } = saved ?? { tick: 0, score: [0, 0] as [number, number], version: 0 };
    this.state = { tick, score, version, fps: 0, playing, events: [], probabilities: [], value: 0 };
  }

  /** Another drill: the games were of other terms. */
  forget(): void {
    this.scores = [];
  }

  /** The next recording that comes. */
  get recording(): Promise<Recording> {
    return new Promise((resolve) => this.recorders.push(resolve));
  }

  /** Whether the message is one of these. */
  receive(message: FromWorker): boolean {
    const { events, model, thoughts } = this.ends;
    switch (message.type) {
      case "STATE":
        this.state = message;
        if (message.events.some((event) => event.kind === "goalless")) events.emit("notice", NO_GOAL);
        events.emit("state", message);
        break;
      case "SNAPSHOT": {
        const { type: _type, id: _id, ...snapshot } = message;
        this.snapshot(snapshot);
        break;
      }
      case "MIND":
        thoughts.receive(message);
        break;
      case "SCORES":
        this.scores = message.episodes.filter(({ after }) => after[0]?.length === model.get("drill")?.spec.terms.length); // others were of the rewards before
        events.emit("scores", undefined);
        break;
      case "SCENE":
        events.emit("scene", message);
        break;
      case "OUTCOMES":
        events.emit("outcomes", message);
        break;
      case "CURSOR":
        events.emit("cursor", message);
        break;
      case "RECORDING":
        this.recorders.shift()?.(message.recording);
        break;
      case "READY":
        this.renderer = message.renderer;
        events.emit("ready", message);
        break;
      case "CANVAS_LOST":
        events.emit("lost", message);
        break;
      case "ERROR":
        events.emit("notice", message.text);
        break;
      default:
        return false;
    }
    return true;
  }
}

/** Messages between page and kernel. Written by `make tables` from dshq_widget/contract/messages.py. */

/** What happened in the show. `side`: who scored, -1 where no side is meant; `goalless`: a skip found no goal. */
export interface ShowEvent {
  kind: "goal" | "draw" | "swap" | "reset" | "goalless";
  tick: number;
  side: number;
  version: number;
}

/** From where a policy elsewhere plays the match ahead (js/features/dream/ahead.ts). */
export interface PlanStart {
  /** Its bytes in hex. */
  state: string;
  tick: number;
  /** Ticks per decision. */
  repeat: number;
  opponent: string;
  /** Policies change between games only. */
  at_reset: boolean;
}

/** A view appeared. */
export interface Hello {
  type: "HELLO";
  /** The last message that this page holds. */
  seq: number;
}

/** Of the newest message. */
export interface Ack {
  type: "ACK";
  seq: number;
}

/** With these settings. */
export type StartTraining = {
  type: "START_TRAINING";
} & Record<string, number | string | boolean | number[]>;

export interface StopTraining {
  type: "STOP_TRAINING";
}

/** Forget everything. */
export interface ResetTrainer {
  type: "RESET_TRAINER";
}

export interface StartFrom {
  type: "START_FROM";
  /** Of the ladder. */
  policy: string;
}

export interface PauseTraining {
  type: "PAUSE_TRAINING";
}

export interface ResumeTraining {
  type: "RESUME_TRAINING";
}

/** One update, with these settings if it has to start. */
export type NextUpdate = {
  type: "NEXT_UPDATE";
} & Record<string, number | string | boolean | number[]>;

/** One setting, or those of a section together: its name, and them by key. */
export interface SetHyper {
  type: "SET_HYPER";
  key: string;
  value: number | string | boolean | number[] | Record<string, number | string | boolean | number[]>;
}

/** Whether it is one line of the rules language. */
export interface CheckReward {
  type: "CHECK_REWARD";
  line: string;
}

export interface PayFor {
  type: "PAY_FOR";
  /** Empty: for nothing more. */
  line: string;
}

/** Practise from here. */
export interface DrillScene {
  type: "DRILL_SCENE";
  /** Its bytes in hex. */
  state: string;
  rules_hash: string;
}

export interface DropScene {
  type: "DROP_SCENE";
  key: string;
}

/** The page's report on the show. */
export interface PageState {
  type: "PAGE_STATE";
  fps: number;
  renderer: "webgpu" | "canvas2d";
  tick: number;
  score: [number, number];
  version: number;
  visible: boolean;
}

export interface SavePolicy {
  type: "SAVE_POLICY";
  /** With all that continuing exactly needs. */
  whole?: boolean;
  /** A number of the page's own, which the answer repeats: pages may ask for several files at once. */
  request?: number;
}

export interface SavePage {
  type: "SAVE_PAGE";
  /** As in SavePolicy. */
  request?: number;
}

/** One part of a file; its bytes are the buffer. */
export interface LoadPolicy {
  type: "LOAD_POLICY";
  name: string;
  part: number;
  parts: number;
}

/** The curves of the policy that was just loaded, for pages to come. */
export interface RestoreHistory {
  type: "RESTORE_HISTORY";
  rows: Record<string, number>[];
}

/** To the kernel: of a show that it plays. To the page: of the show there. */
export interface Step {
  type: "STEP";
  unit: "tick" | "decision";
  count: number;
}

/** The next picture may come. */
export interface FrameShown {
  type: "FRAME_SHOWN";
  tick: number;
}

/** How many more decisions; `watch`: with frames. */
export interface Decide {
  type: "DECIDE";
  page: number;
  plan: number;
  count: number;
  watch: boolean;
  start: PlanStart | null;
}

export interface ExtendTraining {
  type: "EXTEND_TRAINING";
}

export interface ResumeRun {
  type: "RESUME_RUN";
}

export interface SubmitPolicy {
  type: "SUBMIT_POLICY";
}

export interface FetchTrainer {
  type: "FETCH_TRAINER";
  /** Whether this browser has relaxed SIMD. */
  relaxed: boolean;
}

/** This page can train: when it opens, and when one is wanted. The first one gets the run. */
export interface LearnerOffered {
  type: "LEARNER_OFFERED";
  /** The page's number, a random one. */
  learner: number;
}

/** Of the learner in that page, like `learner_to_kernel` (js/features/in_page/learner_link.ts). Weights of a POLICY, and a part of a file, are its buffer. */
export interface FromLearner {
  type: "FROM_LEARNER";
  learner: number;
  run: number;
  message: Record<string, unknown>;
}

/** Imagine what comes after that tick. */
export interface Dream {
  type: "DREAM";
  page: number;
  plan: number;
  tick: number;
}

/** A person's dream begins there. */
export interface EnterDream {
  type: "ENTER_DREAM";
  page: number;
  plan: number;
  tick: number;
}

/** And continues with this action. */
export interface DreamAct {
  type: "DREAM_ACT";
  page: number;
  plan: number;
  action: number;
}

export interface History {
  type: "HISTORY";
  start: number;
  rows: Record<string, number>[];
}

export interface Log {
  type: "LOG";
  level: string;
  text: string;
}

/** Its bytes are the buffer, unless there is a problem. */
export interface PolicyFile {
  type: "POLICY_FILE";
  name: string;
  problem: string;
  /** Of the message that it answers. */
  request: number;
}

/** Its bytes are the buffer, unless there is a problem. */
export interface PageFile {
  type: "PAGE_FILE";
  name: string;
  problem: string;
  /** Of the message that it answers. */
  request: number;
}

export interface RewardChecked {
  type: "REWARD_CHECKED";
  line: string;
  /** Empty: it can be paid for. */
  problem: string;
}

/** A picture of the show that the kernel plays: a JPEG is its buffer. */
export interface Frame {
  type: "FRAME";
  tick: number;
  score: [number, number];
  version: number;
  playing: boolean;
  events: ShowEvent[];
}

/** Made ahead of the match; frames are its buffer. */
export interface Decisions {
  type: "DECISIONS";
  page: number;
  plan: number;
  version: number;
  decisions: number[][];
  /** Tick, and nats. */
  surprises: [number, number][];
}

/** That plan is forgotten; null: every plan is. */
export interface DecideAgain {
  type: "DECIDE_AGAIN";
  page: number | null;
  plan: number | null;
}

/** The worker's code, the learner's and the drill's module and the drill's WGSL are its buffers, unless there is a problem. */
export interface Trainer {
  type: "TRAINER";
  problem: string;
}

/** A run waits for a page to train in. */
export interface LearnerWanted {
  type: "LEARNER_WANTED";
  run: number;
}

/** For the learner in that page: `START`, or a message of `kernel_to_learner`. Of START the newest policy's weights are a buffer, and the file to continue from, if there is one. */
export interface ToLearner {
  type: "TO_LEARNER";
  learner: number;
  run: number;
  message: Record<string, unknown>;
}

/** Frames are its buffer. */
export interface Imagined {
  type: "IMAGINED";
  page: number;
  plan: number;
  tick: number;
  ticks: number[];
  stride: number;
  reward: number[];
  continues: number[];
}

/** A frame is its buffer. */
export interface Dreamt {
  type: "DREAMT";
  page: number;
  plan: number;
  reward: number;
  continues: number;
}

export type PageToKernel =
  | Hello
  | Ack
  | StartTraining
  | StopTraining
  | ResetTrainer
  | StartFrom
  | PauseTraining
  | ResumeTraining
  | NextUpdate
  | SetHyper
  | CheckReward
  | PayFor
  | DrillScene
  | DropScene
  | PageState
  | SavePolicy
  | SavePage
  | LoadPolicy
  | RestoreHistory
  | Step
  | FrameShown
  | Decide
  | ExtendTraining
  | ResumeRun
  | SubmitPolicy
  | FetchTrainer
  | LearnerOffered
  | FromLearner
  | Dream
  | EnterDream
  | DreamAct;

export type KernelToPage =
  | History
  | Step
  | Log
  | PolicyFile
  | PageFile
  | RewardChecked
  | Frame
  | Decisions
  | DecideAgain
  | Trainer
  | LearnerWanted
  | ToLearner
  | Imagined
  | Dreamt;

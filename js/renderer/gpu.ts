/** The GPU device of a thread: shared by everything drawn there, and requested again when it is lost. */
import type { Capabilities } from "../contract/protocol";

export class Gpu {
  private asking: Promise<GPUDevice | null> | null = null;
  private error = "";
  software = false; // a processor does this device's work

  /** `lost` is called when the device is gone; ask `device()` again then. `broken` gets what WebGPU complains about. */
  constructor(
    private readonly lost: () => void,
    private readonly broken: (text: string) => void,
  ) {}

  /** The device, or null where there is none. */
  device(): Promise<GPUDevice | null> {
    this.asking ??= this.ask();
    return this.asking;
  }

  async capabilities(): Promise<Capabilities> {
    const device = await this.device();
    return {
      secure: globalThis.isSecureContext ?? false,
      gpu: hasGpu(),
      device: device !== null,
      error: this.error,
      offscreen: typeof OffscreenCanvas !== "undefined",
    };
  }

  private async ask(): Promise<GPUDevice | null> {
    if (!hasGpu()) return null;
    try {
      const adapter = await navigator.gpu.requestAdapter({ powerPreference: "low-power" });
      if (!adapter) return null;
      const device = await adapter.requestDevice();
      this.software = isSoftware(adapter.info);
      void device.lost.then(() => {
        this.asking = null;
        this.lost();
      });
      device.addEventListener("uncapturederror", (event) => this.broken(event.error.message));
      this.error = "";
      return device;
    } catch (error) {
      this.error = (error as Error).message;
      return null;
    }
  }
}

/** Chromium's fallback adapter says so itself; other drivers of that kind are known by their names. */
function isSoftware(info: GPUAdapterInfo | undefined): boolean {
  const names = `${info?.vendor} ${info?.architecture} ${info?.device} ${info?.description}`;
  return info?.isFallbackAdapter === true || /swiftshader|llvmpipe|lavapipe|basic render|software/i.test(names);
}

function hasGpu(): boolean {
  return typeof navigator !== "undefined" && !!navigator.gpu;
}

/** WebGPU: one instanced draw a frame. Buffers and the bind group are built once; the instance buffer grows by doubling. */
import { SHAPE_FLOATS } from "../protocol";
import { ENTRY_FLOATS, MAX_ENTRIES, rgbaOf, type Look } from "./palette";
import { place, TAG_ASPECT, type Canvas, type Picture, type Renderer } from "./scene";
import shader from "./shapes.wgsl";

const GROUND = 5; // the shader's own kind, after those of the rules
const FRAME_FLOATS = 24;
const TAG_PIXELS = 64; // height of one tag in the atlas

interface Shared {
  pipeline: GPURenderPipeline;
  sampler: GPUSampler;
}
const sharedByDevice = new WeakMap<GPUDevice, Shared>();

export class WebGpuRenderer implements Renderer {
  readonly kind = "webgpu";
  private readonly context: GPUCanvasContext;
  private readonly shared: Shared;
  private readonly frame = new Float32Array(FRAME_FLOATS);
  private readonly frameBuffer: GPUBuffer;
  private readonly paintBuffer: GPUBuffer;
  private instances: Float32Array<ArrayBuffer> = new Float32Array(64 * SHAPE_FLOATS);
  private instanceBuffer: GPUBuffer;
  private group: GPUBindGroup | null = null;
  private look: Look | null = null;
  private tags: readonly string[] | null = null;
  private atlas: GPUTexture | null = null;

  /** Throws an Error when the canvas gives no WebGPU context. */
  constructor(
    private readonly device: GPUDevice,
    private readonly canvas: Canvas,
  ) {
    const context = canvas.getContext("webgpu") as GPUCanvasContext | null;
    if (!context) throw new Error("The canvas gives no WebGPU context.");
    this.context = context;
    const format = navigator.gpu.getPreferredCanvasFormat();
    context.configure({ device, format, alphaMode: "opaque" });
    this.shared = sharedByDevice.get(device) ?? build(device, format);
    sharedByDevice.set(device, this.shared);
    this.frameBuffer = device.createBuffer({ size: FRAME_FLOATS * 4, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    this.paintBuffer = device.createBuffer({
      size: MAX_ENTRIES * ENTRY_FLOATS * 4,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    this.instanceBuffer = this.newInstanceBuffer();
  }

  resize(width: number, height: number, dpi: number): void {
    const limit = this.device.limits.maxTextureDimension2D;
    this.canvas.width = Math.min(limit, Math.max(1, Math.round(width * dpi)));
    this.canvas.height = Math.min(limit, Math.max(1, Math.round(height * dpi)));
  }

  draw(picture: Picture): void {
    this.useTags(picture.tags);
    this.useLook(picture.look);
    this.writeFrame(picture);
    this.writeInstances(picture);
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginRenderPass({
      colorAttachments: [{ view: this.context.getCurrentTexture().createView(), loadOp: "clear", storeOp: "store" }],
    });
    pass.setPipeline(this.shared.pipeline);
    pass.setBindGroup(0, this.group!);
    pass.setVertexBuffer(0, this.instanceBuffer);
    pass.draw(4, picture.count + 1);
    pass.end();
    this.device.queue.submit([encoder.finish()]);
  }

  dispose(): void {
    this.context.unconfigure();
    this.frameBuffer.destroy();
    this.paintBuffer.destroy();
    this.instanceBuffer.destroy();
    this.atlas?.destroy();
  }

  private newInstanceBuffer(): GPUBuffer {
    return this.device.createBuffer({ size: this.instances.byteLength, usage: GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST });
  }

  private writeInstances({ shapes, count }: Picture): void {
    const needed = (count + 1) * SHAPE_FLOATS;
    if (needed > this.instances.length) {
      let size = this.instances.length;
      while (size < needed) size *= 2;
      this.instances = new Float32Array(size);
      this.instanceBuffer.destroy();
      this.instanceBuffer = this.newInstanceBuffer();
    }
    this.instances[0] = GROUND;
    this.instances.set(shapes.subarray(0, count * SHAPE_FLOATS), SHAPE_FLOATS);
    this.device.queue.writeBuffer(this.instanceBuffer, 0, this.instances, 0, needed);
  }

  private writeFrame({ world, look, wash, tags }: Picture): void {
    const { width, height } = this.canvas;
    const { scale, left, top } = place(world, width, height);
    const [r, g, b] = rgbaOf(look, wash.name);
    const [centreX, centreY] = [(width / 2 - left) / scale, (top - height / 2) / scale];
    this.frame.set([(2 * scale) / width, (2 * scale) / height, (2 * left) / width - 1, 1 - (2 * top) / height], 0);
    this.frame.set([centreX, centreY, width / 2 / scale, height / 2 / scale], 4);
    this.frame.set([1 / scale, (world[2] - world[0]) / 100, look.shade, Math.max(tags.length, 1)], 8);
    this.frame.set([r!, g!, b!, wash.strength], 12);
    this.frame.set([wash.x, wash.y, 1 / wash.radius, look.vignette], 16);
    this.frame.set(look.apron, 20);
    this.device.queue.writeBuffer(this.frameBuffer, 0, this.frame);
  }

  private useLook(look: Look): void {
    if (look === this.look) return;
    this.look = look;
    this.device.queue.writeBuffer(this.paintBuffer, 0, new Float32Array(look.entries));
  }

  /** The tags' text, one below the other, white, in one texture. */
  private useTags(tags: readonly string[]): void {
    if (tags === this.tags) return;
    this.tags = tags;
    this.atlas?.destroy();
    const [width, height] = [TAG_PIXELS * TAG_ASPECT, TAG_PIXELS * Math.max(tags.length, 1)];
    this.atlas = this.device.createTexture({
      size: [width, height],
      format: "rgba8unorm",
      usage: GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT,
    });
    if (tags.length > 0 && typeof OffscreenCanvas !== "undefined") {
      const paper = new OffscreenCanvas(width, height);
      const pen = paper.getContext("2d")!;
      pen.font = `800 ${TAG_PIXELS * 0.8}px system-ui, sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillStyle = "white";
      tags.forEach((tag, k) => pen.fillText(tag, width / 2, (k + 0.5) * TAG_PIXELS, width));
      this.device.queue.copyExternalImageToTexture({ source: paper }, { texture: this.atlas, premultipliedAlpha: true }, [width, height]);
    }
    this.group = this.device.createBindGroup({
      layout: this.shared.pipeline.getBindGroupLayout(0),
      entries: [
        { binding: 0, resource: { buffer: this.frameBuffer } },
        { binding: 1, resource: { buffer: this.paintBuffer } },
        { binding: 2, resource: this.atlas.createView() },
        { binding: 3, resource: this.shared.sampler },
      ],
    });
  }
}

/** What all canvases of a device share. */
function build(device: GPUDevice, format: GPUTextureFormat): Shared {
  const module = device.createShaderModule({ code: shader });
  const over: GPUBlendComponent = { srcFactor: "one", dstFactor: "one-minus-src-alpha" };
  return {
    sampler: device.createSampler({ magFilter: "linear", minFilter: "linear" }),
    pipeline: device.createRenderPipeline({
      layout: "auto",
      vertex: {
        module,
        buffers: [
          {
            arrayStride: SHAPE_FLOATS * 4,
            stepMode: "instance",
            attributes: [0, 1, 2].map((k) => ({ shaderLocation: k, offset: 16 * k, format: "float32x4" as const })),
          },
        ],
      },
      fragment: { module, targets: [{ format, blend: { color: over, alpha: over } }] },
      primitive: { topology: "triangle-strip" },
    }),
  };
}

/**
 * WebGPU. What stands still is painted once into a texture and copied under every frame; on top come the moving shapes as
 * instanced quads, one draw per run of shapes that are painted alike. Buffers and bind groups are built once; the instance buffer
 * grows by doubling.
 */
import { KIND, SHAPE_FLOATS } from "../contract/protocol";
import { FixedPart } from "./fixed";
import { ENTRY_FLOATS, type Look, MAX_ENTRIES } from "./palette";
import { type Canvas, type Field, newCanvas, type Picture, place, putShape, type Renderer, TAG_ASPECT } from "./scene";
import shader from "./shapes.wgsl";

const APRON = 5; // the shader's own kind, after those of the rules
const FRAME_FLOATS = 16;
const TAG_PIXELS = 64; // height of one tag in the atlas
const WAYS = ["plain", "rich", "ring", "tag", "ground", "wash", "field"] as const; // fragment shaders
type Way = (typeof WAYS)[number];

interface Shared {
  layout: GPUBindGroupLayout;
  pipelines: Record<Way, GPURenderPipeline>;
  sampler: GPUSampler;
}
const sharedByDevice = new WeakMap<GPUDevice, Shared>();

export class WebGpuRenderer implements Renderer {
  readonly kind = "webgpu";
  private readonly context: GPUCanvasContext;
  private readonly format = navigator.gpu.getPreferredCanvasFormat();
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
  private sheet: GPUTexture | null = null; // the field's pixels
  private fieldGroup: GPUBindGroup | null = null;
  private laid: { field: Field; revision: number } | null = null; // what `sheet` holds
  private readonly fixed = new FixedPart();
  private backdrop: GPUTexture | null = null;

  /** Throws an Error when the canvas gives no WebGPU context. */
  constructor(
    private readonly device: GPUDevice,
    private readonly canvas: Canvas,
  ) {
    const context = canvas.getContext("webgpu") as GPUCanvasContext | null;
    if (!context) throw new Error("The canvas has no WebGPU context.");
    this.context = context;
    const usage = GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_DST;
    context.configure({ device, format: this.format, usage, alphaMode: "opaque" });
    this.shared = sharedByDevice.get(device) ?? build(device, this.format);
    sharedByDevice.set(device, this.shared);
    this.frameBuffer = this.newBuffer(FRAME_FLOATS * 4, GPUBufferUsage.UNIFORM);
    this.paintBuffer = this.newBuffer(MAX_ENTRIES * ENTRY_FLOATS * 4, GPUBufferUsage.UNIFORM);
    this.instanceBuffer = this.newBuffer(this.instances.byteLength, GPUBufferUsage.VERTEX);
  }

  resize(width: number, height: number, dpi: number): void {
    const limit = this.device.limits.maxTextureDimension2D;
    this.canvas.width = Math.min(limit, Math.max(1, Math.round(width * dpi)));
    this.canvas.height = Math.min(limit, Math.max(1, Math.round(height * dpi)));
  }

  draw(picture: Picture): void {
    const { width, height } = this.canvas;
    this.useTags(picture.tags);
    this.useLook(picture.look);
    this.writeFrame(picture);
    this.useField(picture.field);
    const repaint = this.fixed.update(picture, width, height) || !this.backdrop;
    this.writeInstances(picture);
    const encoder = this.device.createCommandEncoder();
    if (repaint) {
      this.backdrop?.destroy();
      const usage = GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC;
      this.backdrop = this.device.createTexture({ size: [width, height], format: this.format, usage });
      this.paint(encoder, this.backdrop, "clear", picture, 0, this.fixed.count + 1);
    }
    const target = this.context.getCurrentTexture();
    encoder.copyTextureToTexture({ texture: this.backdrop! }, { texture: target }, [width, height]);
    this.paint(encoder, target, "load", picture, this.fixed.count + (picture.field ? 1 : 2), picture.count + 3);
    this.device.queue.submit([encoder.finish()]);
  }

  settled(): Promise<void> {
    return this.device.queue.onSubmittedWorkDone();
  }

  dispose(): void {
    this.frameBuffer.destroy();
    this.paintBuffer.destroy();
    this.instanceBuffer.destroy();
    this.backdrop?.destroy();
    this.atlas?.destroy();
    this.sheet?.destroy();
    this.context.unconfigure();
  }

  /** Instances `from` up to `to`, in runs that are painted alike. */
  private paint(encoder: GPUCommandEncoder, target: GPUTexture, loadOp: GPULoadOp, { look }: Picture, from: number, to: number): void {
    const pass = encoder.beginRenderPass({ colorAttachments: [{ view: target.createView(), loadOp, storeOp: "store" }] });
    pass.setVertexBuffer(0, this.instanceBuffer);
    for (let start = from; start < to; ) {
      const way = this.wayOf(start, look);
      let end = start + 1;
      while (end < to && this.wayOf(end, look) === way) end++;
      pass.setPipeline(this.shared.pipelines[way]);
      pass.setBindGroup(0, way === "field" ? this.fieldGroup! : this.group!);
      pass.draw(4, end - start, 0, start);
      start = end;
    }
    pass.end();
  }

  /** How an instance is painted. Instances are: the apron, the fixed shapes, the field, the wash, the moving shapes. */
  private wayOf(instance: number, look: Look): Way {
    if (instance === 0) return "ground";
    if (instance === this.fixed.count + 1) return "field";
    if (instance === this.fixed.count + 2) return "wash";
    const at = instance * SHAPE_FLOATS;
    const kind = this.instances[at]!;
    if (kind === KIND.ring) return "ring";
    if (kind === KIND.tag) return "tag";
    if (this.instances[at + 11] !== 0) return "plain";
    const style = this.instances[at + 1]! * ENTRY_FLOATS + 4;
    if (look.entries[style + 3]! > 0) return "ground";
    return look.entries[style]! + look.entries[style + 1]! + look.entries[style + 2]! > 0 ? "rich" : "plain";
  }

  private writeInstances({ shapes, count, look, wash, field }: Picture): void {
    const needed = (count + 3) * SHAPE_FLOATS;
    if (needed > this.instances.length) {
      let size = this.instances.length;
      while (size < needed) size *= 2;
      this.instances = new Float32Array(size);
      this.instanceBuffer.destroy();
      this.instanceBuffer = this.newBuffer(this.instances.byteLength, GPUBufferUsage.VERTEX);
    }
    const split = this.fixed.count;
    this.instances[0] = APRON;
    this.instances.set(shapes.subarray(0, split * SHAPE_FLOATS), SHAPE_FLOATS);
    const [x0, y0, x1, y1] = field?.area ?? [0, 0, 0, 0];
    const [x, y, a, b] = [(x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2, (y1 - y0) / 2];
    putShape(this.instances, split + 1, KIND.box, look.index("line"), x, y, a, b, 1, 0, 0, 1, -1);
    putShape(this.instances, split + 2, KIND.circle, look.index(wash.name), wash.x, wash.y, wash.radius, 0, 0, 0, 0, wash.strength, -1);
    this.instances.set(shapes.subarray(split * SHAPE_FLOATS, count * SHAPE_FLOATS), (split + 3) * SHAPE_FLOATS);
    this.device.queue.writeBuffer(this.instanceBuffer, 0, this.instances, 0, needed);
  }

  private writeFrame({ world, look, tags }: Picture): void {
    const { width, height } = this.canvas;
    const { scale, left, top } = place(world, width, height);
    const { frame } = this;
    frame.set([(2 * scale) / width, (2 * scale) / height, (2 * left) / width - 1, 1 - (2 * top) / height]);
    frame.set([(width / 2 - left) / scale, (top - height / 2) / scale, width / 2 / scale, height / 2 / scale], 4);
    frame.set([1 / scale, (world[2] - world[0]) / 100, look.shade, Math.max(tags.length, 1)], 8);
    frame.set([...look.apron.slice(0, 3), look.vignette], 12);
    this.device.queue.writeBuffer(this.frameBuffer, 0, frame);
  }

  private useLook(look: Look): void {
    if (look === this.look) return;
    this.look = look;
    this.device.queue.writeBuffer(this.paintBuffer, 0, look.entries);
  }

  /** The tags' text, one below the other, white, in one texture. */
  private useTags(tags: readonly string[]): void {
    if (tags === this.tags) return;
    this.tags = tags;
    this.atlas?.destroy();
    const size: [number, number] = [TAG_PIXELS * TAG_ASPECT, TAG_PIXELS * Math.max(tags.length, 1)];
    const usage = GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT;
    this.atlas = this.device.createTexture({ size, format: "rgba8unorm", usage });
    if (tags.length > 0) {
      const source = newCanvas(...size);
      const pen = source.getContext("2d") as CanvasRenderingContext2D;
      pen.font = `800 ${TAG_PIXELS * 0.8}px system-ui, sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillStyle = "white";
      tags.forEach((tag, k) => pen.fillText(tag, size[0] / 2, (k + 0.5) * TAG_PIXELS, size[0]));
      this.device.queue.copyExternalImageToTexture({ source }, { texture: this.atlas, premultipliedAlpha: true }, size);
    }
    this.group = this.newGroup(this.atlas);
  }

  private useField(field: Field | null): void {
    if (!field) return;
    const { width, height, pixels, revision } = field;
    if (this.sheet?.width !== width || this.sheet.height !== height) {
      this.sheet?.destroy();
      const usage = GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST;
      this.sheet = this.device.createTexture({ size: [width, height], format: "rgba8unorm", usage });
      this.fieldGroup = this.newGroup(this.sheet);
      this.laid = null;
    }
    if (this.laid?.field === field && this.laid.revision === revision) return;
    this.laid = { field, revision };
    this.device.queue.writeTexture({ texture: this.sheet }, pixels, { bytesPerRow: 4 * width }, [width, height]);
  }

  /** What the shaders read: frame and paints, and as their texture the tags or the field. */
  private newGroup(texture: GPUTexture): GPUBindGroup {
    return this.device.createBindGroup({
      layout: this.shared.layout,
      entries: [
        { binding: 0, resource: { buffer: this.frameBuffer } },
        { binding: 1, resource: { buffer: this.paintBuffer } },
        { binding: 2, resource: texture.createView() },
        { binding: 3, resource: this.shared.sampler },
      ],
    });
  }

  private newBuffer(size: number, usage: GPUBufferUsageFlags): GPUBuffer {
    return this.device.createBuffer({ size, usage: usage | GPUBufferUsage.COPY_DST });
  }
}

/** What all canvases of a device share. */
function build(device: GPUDevice, format: GPUTextureFormat): Shared {
  const module = device.createShaderModule({ code: shader });
  const both = GPUShaderStage.VERTEX | GPUShaderStage.FRAGMENT;
  const layout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility: both, buffer: {} },
      { binding: 1, visibility: GPUShaderStage.VERTEX, buffer: {} },
      { binding: 2, visibility: GPUShaderStage.FRAGMENT, texture: {} },
      { binding: 3, visibility: GPUShaderStage.FRAGMENT, sampler: {} },
    ],
  });
  const over: GPUBlendComponent = { srcFactor: "one", dstFactor: "one-minus-src-alpha" };
  const attributes = [0, 1, 2].map((k) => ({ shaderLocation: k, offset: 16 * k, format: "float32x4" as const }));
  const pipeline = (entryPoint: Way) =>
    device.createRenderPipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      vertex: { module, buffers: [{ arrayStride: SHAPE_FLOATS * 4, stepMode: "instance", attributes }] },
      fragment: { module, entryPoint, targets: [{ format, blend: { color: over, alpha: over } }] },
      primitive: { topology: "triangle-strip" },
    });
  return {
    layout,
    pipelines: Object.fromEntries(WAYS.map((way) => [way, pipeline(way)])) as Record<Way, GPURenderPipeline>,
    sampler: device.createSampler({ magFilter: "linear", minFilter: "linear" }),
  };
}

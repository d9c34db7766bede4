// Shapes as instanced quads around signed distances. One vertex shader, one small fragment shader per way of painting: a
// software GPU walks every branch of a shader for every pixel, so one shader for all costs it several times as much.
// Colours are premultiplied.

struct Frame {
  to_clip: vec4f, // scale x, y, offset x, y
  view: vec4f,    // world: centre x, y, half width, half height of what the canvas shows
  unit: vec4f,    // world units per pixel, world units per hundredth of the world's width, depth of shadows, number of tags
  apron: vec4f,   // r, g, b, how dark the corners are
}
struct Paint {
  colour: vec4f,
  style: vec4f, // shadow, gloss, glow, ground
  edge: vec4f,  // softness in hundredths of the world's width
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<uniform> paints: array<Paint, 64>;
@group(0) @binding(2) var tags: texture_2d<f32>;
@group(0) @binding(3) var tag_sampler: sampler;

const BOX = 1u;
const LINE = 2u;
const RING = 3u;
const TAG = 4u;
const APRON = 5u;
// Lengths in hundredths of the world's width; canvas2d.ts holds the same.
const LIGHT = vec2f(-0.45, 0.9); // where light comes from, on the ground
const SHADOW_OFFSET = vec2f(0.7, -1.1);
const SHADOW_BLUR = 1.5;
const GLOW_REACH = 3.0;
const BAND = 10.4;

struct Quad {
  @builtin(position) position: vec4f,
  @location(0) local: vec2f,                      // along the shape's own axes
  @location(1) world: vec2f,
  @location(2) @interpolate(flat) colour: vec4f,  // not premultiplied
  @location(3) @interpolate(flat) size: vec4f,    // half x, half y, corner radius or ring half width, 1 / width of the edge
  @location(4) @interpolate(flat) style: vec4f,   // shadow, gloss, glow, ground; tag: its index
  @location(5) @interpolate(flat) turned: vec4f,  // light, shadow offset along the shape's axes; ring: cos, sin of middle and opening
}

fn turn(v: vec2f, axis: vec2f) -> vec2f {
  return vec2f(axis.x * v.x - axis.y * v.y, axis.y * v.x + axis.x * v.y);
}

@vertex
fn shape_vertex(
  @builtin(vertex_index) corner: u32,
  @location(0) head: vec4f, // kind, colour, x, y
  @location(1) body: vec4f, // a, b, c, d
  @location(2) tail: vec4f, // e, alpha, tag, spare
) -> Quad {
  var quad: Quad;
  let sign = vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0;
  let kind = u32(head.x);
  if (kind == APRON) {
    quad.position = vec4f(sign, 0.0, 1.0);
    quad.world = frame.view.xy + sign * frame.view.zw;
    quad.colour = vec4f(frame.apron.rgb, 1.0);
    quad.size = vec4f(1.0, 1.0, 0.0, 1.0); // every pixel is well inside
    return quad;
  }
  if (tail.y <= 0.0 || (kind == RING && body.z <= 0.0)) { return quad; } // nothing to see: a quad of no size

  let paint = paints[u32(head.y)];
  let pixel = frame.unit.x;
  let soft = select(paint.edge.x * frame.unit.y, max(tail.w, 0.0), tail.w != 0.0);
  quad.colour = vec4f(paint.colour.rgb, paint.colour.a * tail.y);
  quad.style = select(paint.style, vec4f(0.0), tail.w != 0.0);
  var axis = vec2f(1.0, 0.0);
  var centre = head.zw;
  switch (kind) {
    case BOX: {
      axis = body.zw;
      quad.size = vec4f(body.xy, min(tail.x, min(body.x, body.y)), 0.0);
    }
    case LINE: { // a box round at both ends
      let along = body.xy - head.zw;
      let span = length(along);
      if (span > 1e-6) { axis = along / span; }
      centre = head.zw + along * 0.5;
      quad.size = vec4f(span * 0.5 + body.z, body.z, body.z, 0.0);
    }
    case RING: { quad.size = vec4f(body.x, body.x, body.y, 0.0); }
    case TAG: { quad.size = vec4f(body.x * 2.0, body.x * 0.5, 0.0, 0.0); }
    default: { quad.size = vec4f(body.x, body.x, body.x, 0.0); }
  }
  quad.size.w = 1.0 / max(2.0 * soft, 1.2 * pixel);
  let backwards = vec2f(axis.x, -axis.y);
  quad.turned = vec4f(turn(LIGHT, backwards) / max(quad.size.x, quad.size.y), turn(SHADOW_OFFSET * frame.unit.y, backwards));
  if (kind == RING) {
    let half_opening = 3.14159265 * min(body.z, 1.0);
    let middle = body.w + half_opening;
    quad.turned = vec4f(cos(middle), sin(middle), cos(half_opening), sin(half_opening));
  }
  if (kind == TAG) { quad.style.x = tail.z; }

  var reach = pixel + soft;
  if (kind == RING) { reach += body.y; }
  if (quad.style.x > 0.0 && kind != TAG) { reach += frame.unit.y * (SHADOW_BLUR + 1.1); }
  if (quad.style.z > 0.0) { reach = max(reach, frame.unit.y * GLOW_REACH); }
  quad.local = sign * (quad.size.xy + reach);
  quad.world = centre + turn(quad.local, axis);
  quad.position = vec4f(quad.world * frame.to_clip.xy + frame.to_clip.zw, 0.0, 1.0);
  return quad;
}

// The distance to a rounded box, after I. Quilez, "2D distance functions"; circles and lines are such boxes.
fn box_distance(p: vec2f, half_size: vec2f, radius: f32) -> f32 {
  let q = abs(p) - half_size + radius;
  return length(max(q, vec2f(0.0))) + min(max(q.x, q.y), 0.0) - radius;
}

// How much of a pixel a shape covers.
fn cover(d: f32, per_width: f32) -> f32 {
  let inside = saturate(0.5 - d * per_width);
  return inside * inside * (3.0 - 2.0 * inside);
}

struct Plain {
  @location(0) local: vec2f,
  @location(2) @interpolate(flat) colour: vec4f,
  @location(3) @interpolate(flat) size: vec4f,
}

@fragment
fn plain(quad: Plain) -> @location(0) vec4f {
  let ink = quad.colour.a * cover(box_distance(quad.local, quad.size.xy, quad.size.z), quad.size.w);
  return vec4f(quad.colour.rgb * ink, ink);
}

struct Shaped {
  @location(0) local: vec2f,
  @location(2) @interpolate(flat) colour: vec4f,
  @location(3) @interpolate(flat) size: vec4f,
  @location(4) @interpolate(flat) style: vec4f,
  @location(5) @interpolate(flat) turned: vec4f,
}

// With light from the upper left, a darker rim, a glow around and a shadow below.
@fragment
fn rich(quad: Shaped) -> @location(0) vec4f {
  let d = box_distance(quad.local, quad.size.xy, quad.size.z);
  let ink = quad.colour.a * cover(d, quad.size.w);
  let rim = saturate(1.0 + d / (0.45 * frame.unit.y));
  let rgb = quad.colour.rgb * (1.0 + quad.style.y * (0.13 * dot(quad.local, quad.turned.xy) - 0.3 * rim * rim));

  let fade = saturate(1.0 - d / (GLOW_REACH * frame.unit.y));
  let glow = quad.style.z * quad.colour.a * fade * fade * 0.6 * (1.0 - ink);
  let shade = cover(box_distance(quad.local - quad.turned.zw, quad.size.xy, quad.size.z), 0.5 / (SHADOW_BLUR * frame.unit.y));
  let a = ink + glow;
  return vec4f(rgb * ink + quad.colour.rgb * glow, a + quad.style.x * frame.unit.z * quad.colour.a * shade * (1.0 - a));
}

// A ring or an arc of it, after the same page's arc.
@fragment
fn ring(quad: Shaped) -> @location(0) vec4f {
  let p = turn(quad.local, vec2f(quad.turned.x, -quad.turned.y));
  let q = vec2f(p.x, abs(p.y));
  let beyond = q.x * quad.turned.w < q.y * quad.turned.z;
  let from_circle = select(abs(length(q) - quad.size.x), length(q - quad.turned.zw * quad.size.x), beyond);
  let ink = quad.colour.a * cover(from_circle - quad.size.z, quad.size.w);
  return vec4f(quad.colour.rgb * ink, ink);
}

@fragment
fn tag(quad: Shaped) -> @location(0) vec4f {
  let across = quad.local / (2.0 * quad.size.xy) + 0.5;
  let uv = vec2f(across.x, (1.0 - across.y + quad.style.x) / frame.unit.w);
  let inside = step(abs(across.y - 0.5), 0.5) * step(abs(across.x - 0.5), 0.5);
  let ink = textureSampleLevel(tags, tag_sampler, uv, 0.0).a * quad.colour.a * inside;
  return vec4f(quad.colour.rgb * ink, ink);
}

// An image stretched over a box, its first row at the top; the texture is the field's, its colours not premultiplied.
@fragment
fn field(quad: Plain) -> @location(0) vec4f {
  let uv = vec2f(quad.local.x, -quad.local.y) / (2.0 * quad.size.xy) + 0.5;
  let colour = textureSampleLevel(tags, tag_sampler, uv, 0.0);
  let ink = colour.a * cover(box_distance(quad.local, quad.size.xy, 0.0), quad.size.w);
  return vec4f(colour.rgb * ink, ink);
}

struct Ground {
  @location(0) local: vec2f,
  @location(1) world: vec2f,
  @location(2) @interpolate(flat) colour: vec4f,
  @location(3) @interpolate(flat) size: vec4f,
  @location(4) @interpolate(flat) style: vec4f,
}

// Mown in bands, with darker corners; the apron around the pitch is the same without bands or edge.
@fragment
fn ground(quad: Ground) -> @location(0) vec4f {
  let wave = abs(fract(quad.world.y / (2.0 * BAND * frame.unit.y)) - 0.5) - 0.25;
  let mown = saturate(wave * 2.0 * BAND * frame.unit.y / frame.unit.x + 0.5) - 0.5;
  let from_centre = (quad.world - frame.view.xy) / frame.view.zw;
  let light = (1.0 + 0.05 * quad.style.w * mown) * (1.0 - 0.5 * frame.apron.w * dot(from_centre, from_centre));
  let ink = quad.colour.a * cover(box_distance(quad.local, quad.size.xy, quad.size.z), quad.size.w);
  return vec4f(quad.colour.rgb * light * ink, ink);
}

// Colour strongest in the middle of a circle and gone at its edge.
@fragment
fn wash(quad: Plain) -> @location(0) vec4f {
  let near = saturate(1.0 - length(quad.local) / quad.size.x);
  let ink = quad.colour.a * near * near;
  return vec4f(quad.colour.rgb * ink, ink);
}

// Every shape of a frame in one draw: each instance is a quad around its shape, and the fragment asks a signed distance.
// Instance 0 is the ground. Colours are premultiplied on the way out.

struct Frame {
  to_clip: vec4f, // scale x, y, offset x, y
  view: vec4f,    // world: centre x, y, half width, half height of what the canvas shows
  unit: vec4f,    // world units per pixel, world units per hundredth of the world's width, depth of shadows, tags
  wash: vec4f,    // r, g, b, strength
  wash_at: vec4f, // x, y, 1 / radius, vignette
  apron: vec4f,
}
struct Paint {
  colour: vec4f,
  style: vec4f, // shadow, gloss, glow, ground
  edge: vec4f,  // softness in hundredths of the world's width
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<uniform> paints: array<Paint, 64>;
@group(0) @binding(2) var tags: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;

const RING = 3u;
const TAG = 4u;
const GROUND = 5u;
const LIGHT = vec2f(-0.45, 0.9);      // where light comes from, on the ground
const SHADOW_OFFSET = vec2f(0.7, -1.1); // hundredths of the world's width
const SHADOW_BLUR = 1.5;
const GLOW_REACH = 3.0;
const BAND = 10.4;

struct Quad {
  @builtin(position) position: vec4f,
  @location(0) local: vec2f,  // the shape's own axes
  @location(1) world: vec2f,
  @location(2) @interpolate(flat) kind: u32,
  @location(3) @interpolate(flat) colour: vec4f,
  @location(4) @interpolate(flat) style: vec4f,
  @location(5) @interpolate(flat) size: vec4f,  // half x, half y, corner radius or ring half width, softness
  @location(6) @interpolate(flat) arc: vec4f,   // ring: cos, sin of its middle, cos, sin of half its opening
  @location(7) @interpolate(flat) axis: vec2f,  // cos, sin of the shape's angle
}

@vertex
fn shape_vertex(
  @builtin(vertex_index) corner: u32,
  @location(0) head: vec4f, // kind, colour, x, y
  @location(1) body: vec4f, // a, b, c, d
  @location(2) tail: vec4f, // e, alpha, tag, softness
) -> Quad {
  var quad: Quad;
  let sign = vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0;
  quad.kind = u32(head.x);
  if (quad.kind == GROUND) {
    quad.position = vec4f(sign, 0.0, 1.0);
    quad.world = frame.view.xy + sign * frame.view.zw;
    return quad;
  }

  let paint = paints[u32(head.y)];
  quad.colour = paint.colour * vec4f(1.0, 1.0, 1.0, tail.y);
  quad.style = paint.style;
  quad.axis = vec2f(1.0, 0.0);
  var centre = head.zw;
  let soft = max(tail.w, paint.edge.x * frame.unit.y);
  switch (quad.kind) {
    case 1u: { // box
      quad.axis = body.zw;
      quad.size = vec4f(body.xy, min(tail.x, min(body.x, body.y)), soft);
    }
    case 2u: { // line: a box round at both ends
      let along = body.xy - head.zw;
      let span = length(along);
      if (span > 1e-6) { quad.axis = along / span; }
      centre = head.zw + along * 0.5;
      quad.size = vec4f(span * 0.5 + body.z, body.z, body.z, soft);
    }
    case 3u: { // ring
      let half_opening = 3.14159265 * clamp(body.z, 0.0, 1.0);
      let middle = body.w + half_opening;
      quad.arc = vec4f(cos(middle), sin(middle), cos(half_opening), sin(half_opening));
      if (body.z >= 1.0) { quad.arc.z = -2.0; }
      quad.size = vec4f(body.x, body.x, body.y, soft);
    }
    case 4u: { // tag
      quad.size = vec4f(body.x * 2.0, body.x * 0.5, 0.0, 0.0);
      quad.arc.x = tail.z;
    }
    default: { // circle
      quad.size = vec4f(body.x, body.x, body.x, soft);
    }
  }

  var reach = frame.unit.x + quad.size.w;
  if (quad.kind == RING) { reach += quad.size.z; }
  if (paint.style.x > 0.0) { reach += frame.unit.y * (SHADOW_BLUR + 1.1); }
  if (paint.style.z > 0.0) { reach = max(reach, frame.unit.y * GLOW_REACH); }
  quad.local = sign * (quad.size.xy + reach);
  let turned = vec2f(quad.axis.x * quad.local.x - quad.axis.y * quad.local.y, quad.axis.y * quad.local.x + quad.axis.x * quad.local.y);
  quad.world = centre + turned;
  quad.position = vec4f(quad.world * frame.to_clip.xy + frame.to_clip.zw, 0.0, 1.0);
  return quad;
}

// Distances after I. Quilez, "2D distance functions": rounded box (circles and lines are such boxes) and arc.
fn distance_to(quad: Quad, p: vec2f) -> f32 {
  if (quad.kind == RING) {
    var q = vec2f(quad.arc.x * p.x + quad.arc.y * p.y, quad.arc.x * p.y - quad.arc.y * p.x);
    q.y = abs(q.y);
    let tip = quad.arc.zw * quad.size.x;
    let beside = quad.arc.z > -1.5 && q.x * quad.arc.w < q.y * quad.arc.z;
    return select(abs(length(q) - quad.size.x), length(q - tip), beside) - quad.size.z;
  }
  let q = abs(p) - quad.size.xy + quad.size.z;
  return length(max(q, vec2f(0.0))) + min(max(q.x, q.y), 0.0) - quad.size.z;
}

fn lit_ground(base: vec3f, at: vec2f) -> vec3f {
  let from_centre = (at - frame.view.xy) / frame.view.zw;
  let shaded = base * (1.0 - frame.wash_at.w * dot(from_centre, from_centre) * 0.5);
  let near = max(0.0, 1.0 - length(at - frame.wash_at.xy) * frame.wash_at.z);
  return mix(shaded, frame.wash.rgb, frame.wash.a * near * near);
}

// 0..1: which of two alternating bands of `width` a coordinate is in, its edge one pixel soft.
fn band(x: f32, width: f32) -> f32 {
  let wave = abs(fract(x / (2.0 * width)) - 0.5) - 0.25;
  return clamp(wave * 2.0 * width / frame.unit.x + 0.5, 0.0, 1.0);
}

@fragment
fn shape_fragment(quad: Quad) -> @location(0) vec4f {
  if (quad.kind == GROUND) { return vec4f(lit_ground(frame.apron.rgb, quad.world), 1.0); }
  if (quad.kind == TAG) {
    let uv = vec2f(quad.local.x / (2.0 * quad.size.x) + 0.5, (0.5 - quad.local.y / (2.0 * quad.size.y) + quad.arc.x) / frame.unit.w);
    let ink = textureSampleLevel(tags, smooth_sampler, uv, 0.0).a * quad.colour.a;
    return vec4f(quad.colour.rgb * ink, ink);
  }

  let d = distance_to(quad, quad.local);
  let soft = quad.size.w;
  var cover = clamp(0.5 - d / frame.unit.x, 0.0, 1.0);
  if (soft > 0.0) { cover = 1.0 - smoothstep(-soft, soft, d); }
  var rgb = quad.colour.rgb;
  var a = quad.colour.a;

  if (quad.style.w > 0.0) {
    let mown = band(quad.world.y, BAND * frame.unit.y) - 0.5;
    rgb = mix(rgb, lit_ground(rgb * (1.0 + 0.05 * mown), quad.world), quad.style.w);
  }
  if (quad.style.y > 0.0) { // lit from the upper left, darker at the rim
    let p = vec2f(quad.axis.x * quad.local.x - quad.axis.y * quad.local.y, quad.axis.y * quad.local.x + quad.axis.x * quad.local.y);
    let lift = dot(p, LIGHT) / max(quad.size.x, quad.size.y);
    let rim = clamp(1.0 + d / (0.45 * frame.unit.y), 0.0, 1.0);
    rgb *= 1.0 + quad.style.y * (0.13 * lift - 0.3 * rim * rim);
  }

  let ink = a * cover;
  var result = vec4f(rgb * ink, ink);
  if (quad.style.z > 0.0 && d > -frame.unit.x) {
    let fade = max(0.0, 1.0 - d / (GLOW_REACH * frame.unit.y));
    let glow = quad.style.z * quad.colour.a * fade * fade * 0.6 * (1.0 - ink);
    result += vec4f(quad.colour.rgb * glow, glow);
  }
  if (quad.style.x > 0.0 && ink < 1.0) {
    let offset = SHADOW_OFFSET * frame.unit.y;
    let moved = quad.local - vec2f(quad.axis.x * offset.x + quad.axis.y * offset.y, quad.axis.x * offset.y - quad.axis.y * offset.x);
    let blur = SHADOW_BLUR * frame.unit.y;
    let depth = quad.style.x * frame.unit.z * quad.colour.a * (1.0 - smoothstep(-blur, blur, distance_to(quad, moved)));
    result.a += depth * (1.0 - result.a);
  }
  return result;
}

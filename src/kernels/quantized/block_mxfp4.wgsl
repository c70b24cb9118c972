fn factors_w(i: u32) -> vec2<f32> {
  let e = byte_w(i / 32u * 17u);
  // 2^128 is no number in f32, and is none here either.
  return vec2<f32>(bitcast<f32>(clamp(e, 1u, 254u) << 23u), select(select(1.0, 0.5, e == 0u), 2.0, e == 255u));
}
fn codes4_w(i: u32) -> vec4<f32> {
  let j = i % 32u;
  let c = bytes_of((bytes4_w(i / 32u * 17u + 1u + j % 16u) >> (j / 16u * 4u)) & 0x0f0f0f0fu);
  // Integers, so that there is no -0.
  let doubled = vec4<i32>((vec4<u32>(0xc8643210u) >> (c % 8u * 4u)) & vec4<u32>(15u));
  return vec4<f32>(select(doubled, -doubled, c >= vec4<u32>(8u))) * 0.5;
}

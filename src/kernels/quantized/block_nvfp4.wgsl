// E4M3 without a sign, of which no code is NaN.
fn factors_w(i: u32) -> vec2<f32> {
  let c = byte_w(i / 64u * 36u + i % 64u / 16u);
  let normal = bitcast<f32>(((c & 127u) << 20u) + 0x3c000000u);
  let scale = select(normal, f32_of(c & 7u) * 0.001953125, (c & 120u) == 0u);
  return vec2<f32>(select(scale, 0.0, c == 127u), 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 64u;
  let c = bytes_of((bytes4_w(i / 64u * 36u + 4u + e / 16u * 8u + e % 8u) >> (e % 16u / 8u * 4u)) & 0x0f0f0f0fu);
  // Integers, so that there is no -0.
  let doubled = vec4<i32>((vec4<u32>(0xc8643210u) >> (c % 8u * 4u)) & vec4<u32>(15u));
  return vec4<f32>(select(doubled, -doubled, c >= vec4<u32>(8u))) * 0.5;
}

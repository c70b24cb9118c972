fn factors_w(i: u32) -> vec2<f32> { return k_factors(i / 256u * 144u, i % 256u / 32u); }
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let word = bytes4_w(i / 256u * 144u + 16u + e / 64u * 32u + e % 32u);
  return vec4<f32>(bytes_of((word >> (e / 32u % 2u * 4u)) & 0x0f0f0f0fu));
}

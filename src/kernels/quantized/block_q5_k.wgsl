fn factors_w(i: u32) -> vec2<f32> { return k_factors(i / 256u * 176u, i % 256u / 32u); }
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let block = i / 256u * 176u;
  let low = (bytes4_w(block + 48u + e / 64u * 32u + e % 32u) >> (e / 32u % 2u * 4u)) & 0x0f0f0f0fu;
  let high = (bytes4_w(block + 16u + e % 32u) >> (e / 32u)) & 0x01010101u;
  return vec4<f32>(bytes_of(low | (high << 4u)));
}

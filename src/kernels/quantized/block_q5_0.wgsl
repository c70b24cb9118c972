fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 32u * 22u), 0.0); }
fn codes4_w(i: u32) -> vec4<f32> {
  let j = i % 32u;
  let block = i / 32u * 22u;
  let low = (bytes4_w(block + 6u + j % 16u) >> (j / 16u * 4u)) & 0x0f0f0f0fu;
  return vec4<f32>(bytes_of(low | (four_bits(bytes4_w(block + 2u) >> j) << 4u))) - 16.0;
}

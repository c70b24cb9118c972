fn factors_w(i: u32) -> vec2<f32> { return unpack2x16float(bytes4_w(i / 32u * 24u)); }
fn codes4_w(i: u32) -> vec4<f32> {
  let j = i % 32u;
  let block = i / 32u * 24u;
  let low = (bytes4_w(block + 8u + j % 16u) >> (j / 16u * 4u)) & 0x0f0f0f0fu;
  return vec4<f32>(bytes_of(low | (four_bits(bytes4_w(block + 4u) >> j) << 4u)));
}

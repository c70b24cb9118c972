fn factors_w(i: u32) -> vec2<f32> { return unpack2x16float(bytes4_w(i / 32u * 20u)); }
fn codes4_w(i: u32) -> vec4<f32> {
  let j = i % 32u;
  return vec4<f32>(bytes_of((bytes4_w(i / 32u * 20u + 4u + j % 16u) >> (j / 16u * 4u)) & 0x0f0f0f0fu));
}

fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 32u * 18u), 0.0); }
fn codes4_w(i: u32) -> vec4<f32> {
  let j = i % 32u;
  return nonlinear4(bytes_of((bytes4_w(i / 32u * 18u + 2u + j % 16u) >> (j / 16u * 4u)) & 0x0f0f0f0fu));
}

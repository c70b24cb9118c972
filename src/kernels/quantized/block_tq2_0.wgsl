fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 256u * 66u + 64u), 0.0); }
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let word = bytes4_w(i / 256u * 66u + e / 128u * 32u + e % 32u);
  return f32s_of(bytes_of((word >> (e % 128u / 32u * 2u)) & 0x03030303u)) - 1.0;
}

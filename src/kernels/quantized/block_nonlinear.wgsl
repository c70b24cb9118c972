// Sixteen bytes in four words, from -127 to 113.
fn nonlinear(c: u32) -> f32 {
  let low = select(0xbfad9881u, 0xf6eaddcfu, c >= 4u);
  let high = select(0x26190d01u, 0x71594535u, c >= 12u);
  let word = select(low, high, c >= 8u);
  return f32(i32(word << (24u - c % 4u * 8u)) >> 24u);
}
fn nonlinear4(c: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(nonlinear(c.x), nonlinear(c.y), nonlinear(c.z), nonlinear(c.w));
}

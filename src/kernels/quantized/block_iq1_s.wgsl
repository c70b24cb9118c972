// Of 32 elements a half word: three bits of each of four entries, three of scale, and whether an eighth comes off.
fn of_run_w(i: u32) -> u32 { return bytes4_w(i / 256u * 50u + 34u + i % 256u / 32u * 2u); }
fn factors_w(i: u32) -> vec2<f32> {
  return vec2<f32>(half_w(i / 256u * 50u) * f32_of(((of_run_w(i) >> 12u) & 7u) * 2u + 1u), 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let of_run = of_run_w(i);
  let high = (of_run >> (i % 32u / 8u * 3u)) & 7u;
  let entry = entry_w(byte_w(i / 256u * 50u + 2u + i % 256u / 8u) | (high << 8u));
  return iq1_four(entry, i % 8u / 4u, (of_run & 0x8000u) != 0u);
}

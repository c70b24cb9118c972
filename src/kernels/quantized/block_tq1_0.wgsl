fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 256u * 54u + 52u), 0.0); }
// Five numbers of three values are the digits of a byte's 256ths: multiplied by 3, the next one comes before the point.
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  var at = e % 32u;
  var digit = e / 32u;
  if (e >= 240u) {
    at = 48u;
    digit = (e - 240u) / 4u;
  } else if (e >= 160u) {
    at = 32u + e % 16u;
    digit = (e - 160u) / 16u;
  }
  // 1, 3, 9, 27 and 81.
  let power = select((0x1b090301u >> (digit % 4u * 8u)) & 255u, 81u, digit == 4u);
  let fraction = (bytes_of(bytes4_w(i / 256u * 54u + at)) * power) & vec4<u32>(255u);
  return f32s_of((fraction * 3u) >> vec4<u32>(8u)) - 1.0;
}

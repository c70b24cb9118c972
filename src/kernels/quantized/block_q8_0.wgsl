fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 32u * 34u), 0.0); }
fn codes4_w(i: u32) -> vec4<f32> { return vec4<f32>(signed_bytes_of(bytes4_w(i / 32u * 34u + 2u + i % 32u))); }

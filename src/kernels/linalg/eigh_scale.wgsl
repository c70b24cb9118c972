{#
  What large matrices are scaled by, a workgroup for each: of scales [matrix, 3] the power of two that brings its
  elements to about 1, or 0 where one is NaN or infinite, the power's inverse, and which elements are negligible then.
  The lower triangle of a is read.

  options:
    threads: number
#}
var<workgroup> largest: atomic<u32>;
var<workgroup> squares: array<f32, {{ threads }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let a0 = at_a(coords(min(matrix, p.count - 1u)));
  var own = 0u;
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    if (j > i) { continue; }
    let x = load_a(a0 + i * p.a_row + j * p.a_column);
    own = max(own, {{ "select(magnitude_bits(x), bitcast<u32>(x.x) & 0x7fffffffu, i == j)" if complex else "magnitude_bits(x)" }});
  }
  atomicMax(&largest, own);
  workgroupBarrier();
  let most = atomicLoad(&largest);
  let scale = scale_of(most);
  var sum = 0.0;
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    if (j > i) { continue; }
    let x = load_a(a0 + i * p.a_row + j * p.a_column) * scale;
    if (i == j) {
      let d = real_part(x);
      sum += d * d;
    } else {
      sum += 2.0 * square_of(x);
    }
  }
  squares[lid] = sum;
  workgroupBarrier();
  for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
    if (lid < step) { squares[lid] += squares[lid + step]; }
    workgroupBarrier();
  }
  if (lid == 0u && matrix < p.count) {
    store_scales(3u * matrix, select(0.0, scale, most < kInfinity));
    store_scales(3u * matrix + 1u, scale_back(most));
    store_scales(3u * matrix + 2u, select(1.0, negligible(squares[0], p.n), most < kInfinity));
  }
}

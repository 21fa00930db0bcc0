// nnc kernels for cuda:sm_80
NNC_MASK(4)
NNC_VECTOR(f32, 4)
NNC_FN f32 bits_f32(u64 b) { return bits_cast<f32>((u32)b); }
NNC_FN idx floordiv_idx(idx a, idx b) { return floordiv_i(a, b); }
NNC_FN idx floormod_idx(idx a, idx b) { return floormod_i(a, b); }
NNC_FN mx4 le_f32x4(f32x4 a, f32x4 b) { return mx4{a[0] <= b[0], a[1] <= b[1], a[2] <= b[2], a[3] <= b[3]}; }
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN f32x4 select_f32x4(mx4 a, f32x4 b, f32x4 c) { return f32x4{a[0] ? b[0] : c[0], a[1] ? b[1] : c[1], a[2] ? b[2] : c[2], a[3] ? b[3] : c[3]}; }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f32x4(P p, I i, f32x4 v) { nnc_store<f32x4>(p, i, v); }

NNC_KERNEL(256, pointwise)(NNC_ALIASED(f32) in0, NNC_READ(f32) in1, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx task0 = NNC_TASK; (void)task0;
  const idx id_0 = ((task0 * idx(256)) + NNC_THREAD);
  if ((id_0 < idx(16384))) {
    const idx j_1 = floormod_idx(id_0, idx(256));
    const idx outer_2 = floordiv_idx(id_0, idx(256));
    const idx at_3 = (j_1 * idx(4));
    const idx t_4 = ((outer_2 * idx(1024)) + at_3);
    const f32x4 v_5 = load_f32x4(in0, t_4);
    const f32x4 v_6 = load_f32x4(in1, at_3);
    // add
    const f32x4 add_7 = (v_5 + v_6);
    // relu
    const f32x4 relu_8 = select_f32x4(le_f32x4(add_7, splat_f32x4(bits_f32(0x0ull))), splat_f32x4(bits_f32(0x0ull)), add_7);
    store_f32x4(out0, t_4, relu_8);
  }
}

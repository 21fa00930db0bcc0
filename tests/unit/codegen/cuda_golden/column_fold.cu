// nnc kernels for cuda:sm_80
NNC_VECTOR(f32, 4)
NNC_FN f32 bits_f32(u64 b) { return bits_cast<f32>((u32)b); }
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN idx min_idx(idx a, idx b) { return min_i(a, b); }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f32x4(P p, I i, f32x4 v) { nnc_store<f32x4>(p, i, v); }

NNC_KERNEL(128, column_fold)(NNC_READ(f32) in0, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx task0 = NNC_TASK; (void)task0;
  const idx id_0 = ((task0 * idx(128)) + NNC_THREAD);
  const idx at_1 = (id_0 * idx(4));
  f32x4 s_2 = splat_f32x4(bits_f32(0x0ull));
  for (idx q_3 = idx(0), q_3_end = idx(128); q_3 < q_3_end; q_3 += 32) {
    const idx qe_4 = min_idx((q_3 + idx(32)), idx(128));
    f32x4 s_5 = splat_f32x4(bits_f32(0x0ull));
    for (idx r_6 = q_3, r_6_end = qe_4; r_6 < r_6_end; r_6 += 1) {
      const f32x4 v_7 = load_f32x4(in0, (at_1 + (r_6 * idx(1024))));
      // reduce
      const f32x4 n_8 = (s_5 + v_7);
      s_5 = n_8;
    }
    const f32x4 c_9 = (s_2 + s_5);
    s_2 = c_9;
  }
  store_f32x4(out0, at_1, s_2);
}

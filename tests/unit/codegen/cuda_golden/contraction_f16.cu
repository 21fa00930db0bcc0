// nnc kernels for cuda:sm_80
NNC_MASK(4)
NNC_VECTOR(f16, 4)
NNC_VECTOR(f32, 4)
typedef frag<f16, 4> frag_b16_f16;
typedef frag<f16, 8> frag_a16_f16;
typedef frag<f32, 4> frag_c16_f32;
NNC_FN f32 bits_f32(u64 b) { return bits_cast<f32>((u32)b); }
NNC_FN f16x4 cast_even_f16x4_from_f32x4(f32x4 a) { return f16x4{f16_from_f32(a[0]), f16_from_f32(a[1]), f16_from_f32(a[2]), f16_from_f32(a[3])}; }
NNC_FN f32x4 cast_even_f32x4_from_f16x4(f16x4 a) { return f32x4{f32_from_f16(a[0]), f32_from_f16(a[1]), f32_from_f16(a[2]), f32_from_f16(a[3])}; }
template <class S, class G> NNC_FN void copy_async_16(S s, idx si, G g, idx gi, bool m) { nnc_copy_async<16>(s, si, g, gi, m); }
NNC_FN void copy_commit() { nnc_copy_commit(); }
NNC_FN void copy_wait_0() { nnc_copy_wait<0>(); }
NNC_FN void copy_wait_1() { nnc_copy_wait<1>(); }
NNC_FN idx floordiv_idx(idx a, idx b) { return floordiv_i(a, b); }
NNC_FN idx floormod_idx(idx a, idx b) { return floormod_i(a, b); }
template <class P> NNC_FN frag_a16_f16 frag_load_frag_a16_f16(P p, idx i, idx ld) {
  const idx group = (NNC_THREAD & 31) >> 2, quad = NNC_THREAD & 3;
  frag_a16_f16 f;
  typedef frag_run<f16, 2> run;
  { const run r = nnc_load<run>(p, i + (group + 0) * ld + (quad * 2 + 0)); f.e[0] = r.e[0]; f.e[1] = r.e[1]; }
  { const run r = nnc_load<run>(p, i + (group + 8) * ld + (quad * 2 + 0)); f.e[2] = r.e[0]; f.e[3] = r.e[1]; }
  { const run r = nnc_load<run>(p, i + (group + 0) * ld + (quad * 2 + 8)); f.e[4] = r.e[0]; f.e[5] = r.e[1]; }
  { const run r = nnc_load<run>(p, i + (group + 8) * ld + (quad * 2 + 8)); f.e[6] = r.e[0]; f.e[7] = r.e[1]; }
  return f;
}
template <class P> NNC_FN frag_b16_f16 frag_load_frag_b16_f16(P p, idx i, idx ld) {
  const idx group = (NNC_THREAD & 31) >> 2, quad = NNC_THREAD & 3;
  frag_b16_f16 f;
  f.e[0] = nnc_load<f16>(p, i + (quad * 2 + 0) * ld + (group + 0));
  f.e[1] = nnc_load<f16>(p, i + (quad * 2 + 1) * ld + (group + 0));
  f.e[2] = nnc_load<f16>(p, i + (quad * 2 + 8) * ld + (group + 0));
  f.e[3] = nnc_load<f16>(p, i + (quad * 2 + 9) * ld + (group + 0));
  return f;
}
NNC_FN void frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(frag_c16_f32& c, const frag_a16_f16& a, const frag_b16_f16& b NNC_LINE) { nnc_mma_f16_f16(c, a, b NNC_AT); }
template <class P> NNC_FN void frag_store_frag_c16_f32(P p, idx i, idx ld, const frag_c16_f32& f) {
  const idx group = (NNC_THREAD & 31) >> 2, quad = NNC_THREAD & 3;
  nnc_store<f32>(p, i + (group + 0) * ld + (quad * 2 + 0), f.e[0]);
  nnc_store<f32>(p, i + (group + 0) * ld + (quad * 2 + 1), f.e[1]);
  nnc_store<f32>(p, i + (group + 8) * ld + (quad * 2 + 0), f.e[2]);
  nnc_store<f32>(p, i + (group + 8) * ld + (quad * 2 + 1), f.e[3]);
}
NNC_FN frag_c16_f32 frag_zero_frag_c16_f32() { return frag_c16_f32{}; }
NNC_FN mx4 le_f32x4(f32x4 a, f32x4 b) { return mx4{a[0] <= b[0], a[1] <= b[1], a[2] <= b[2], a[3] <= b[3]}; }
template <class P, class I> NNC_FN f16x4 load_f16x4(P p, I i) { return nnc_load<f16x4>(p, i); }
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN f32x4 select_f32x4(mx4 a, f32x4 b, f32x4 c) { return f32x4{a[0] ? b[0] : c[0], a[1] ? b[1] : c[1], a[2] ? b[2] : c[2], a[3] ? b[3] : c[3]}; }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f16x4(P p, I i, f16x4 v) { nnc_store<f16x4>(p, i, v); }

NNC_KERNEL(128, contraction_f16)(NNC_READ(f16) in0, NNC_READ(f16) in1, NNC_READ(f16) in2, NNC_WRITE(f16) out0, failure_t* failure) {
  (void)failure;
  const idx grid0 = idx(4), grid1 = idx(4);
  const idx task0 = NNC_TASK % grid0, task1 = NNC_TASK / grid0 % grid1, task2 = NNC_TASK / grid0 / grid1;
  (void)task0; (void)task1; (void)task2;
  const idx m0_0 = (task1 * idx(64));
  const idx n0_1 = (task0 * idx(64));
  NNC_SHARED(f16, left_4, 5120, 16, 0, 0, 0);
  NNC_SHARED(f16, right_5, 4608, 16, 10240, 5120, 1);
  NNC_SHARED(f32, tile_6, 4352, 16, 19456, 9728, 2);
  const idx warp_2 = floordiv_idx(NNC_THREAD, idx(32));
  const idx wm_3 = (floordiv_idx(warp_2, idx(2)) * idx(32));
  const idx wn_4 = (floormod_idx(warp_2, idx(2)) * idx(32));
  frag_c16_f32 c_5 = frag_zero_frag_c16_f32();
  frag_c16_f32 c_6 = frag_zero_frag_c16_f32();
  frag_c16_f32 c_7 = frag_zero_frag_c16_f32();
  frag_c16_f32 c_8 = frag_zero_frag_c16_f32();
  frag_c16_f32 c_9 = frag_zero_frag_c16_f32();
  frag_c16_f32 c_10 = frag_zero_frag_c16_f32();
  frag_c16_f32 c_11 = frag_zero_frag_c16_f32();
  frag_c16_f32 c_12 = frag_zero_frag_c16_f32();
  NNC_UNROLL
  for (idx c_13 = idx(0), c_13_end = idx(2); c_13 < c_13_end; c_13 += 1) {
    const idx id_14 = (NNC_THREAD + (c_13 * idx(128)));
    const idx f_15 = floormod_idx(id_14, idx(4));
    const idx s_16 = floordiv_idx(id_14, idx(4));
    const idx p_17 = (f_15 * idx(8));
    const idx m_18 = (m0_0 + s_16);
    copy_async_16(left_4, ((s_16 * idx(40)) + p_17), in0, (p_17 + (m_18 * idx(128))), true);
  }
  NNC_UNROLL
  for (idx c_19 = idx(0), c_19_end = idx(2); c_19 < c_19_end; c_19 += 1) {
    const idx id_20 = (NNC_THREAD + (c_19 * idx(128)));
    const idx f_21 = floormod_idx(id_20, idx(8));
    const idx s_22 = floordiv_idx(id_20, idx(8));
    const idx t_23 = (f_21 * idx(8));
    const idx n_24 = (n0_1 + t_23);
    copy_async_16(right_5, ((s_22 * idx(72)) + t_23), in1, (n_24 + (s_22 * idx(256))), true);
  }
  copy_commit();
  const idx t_25 = (wm_3 * idx(40));
  for (idx t_26 = idx(0), t_26_end = idx(4); t_26 < t_26_end; t_26 += 1) {
    const idx next_27 = (t_26 + idx(1));
    const idx odd_28 = floormod_idx(next_27, idx(2));
    if ((next_27 < idx(4))) {
      const idx at_29 = (odd_28 * idx(2560));
      const idx t_30 = (next_27 * idx(32));
      NNC_UNROLL
      for (idx c_31 = idx(0), c_31_end = idx(2); c_31 < c_31_end; c_31 += 1) {
        const idx id_32 = (NNC_THREAD + (c_31 * idx(128)));
        const idx f_33 = floormod_idx(id_32, idx(4));
        const idx s_34 = floordiv_idx(id_32, idx(4));
        const idx t_35 = (f_33 * idx(8));
        const idx p_36 = (t_30 + t_35);
        const idx m_37 = (m0_0 + s_34);
        copy_async_16(left_4, ((at_29 + (s_34 * idx(40))) + t_35), in0, (p_36 + (m_37 * idx(128))), true);
      }
      const idx at_38 = (odd_28 * idx(2304));
      NNC_UNROLL
      for (idx c_39 = idx(0), c_39_end = idx(2); c_39 < c_39_end; c_39 += 1) {
        const idx id_40 = (NNC_THREAD + (c_39 * idx(128)));
        const idx f_41 = floormod_idx(id_40, idx(8));
        const idx s_42 = floordiv_idx(id_40, idx(8));
        const idx p_43 = (t_30 + s_42);
        const idx t_44 = (f_41 * idx(8));
        const idx n_45 = (n0_1 + t_44);
        copy_async_16(right_5, ((at_38 + (s_42 * idx(72))) + t_44), in1, (n_45 + (p_43 * idx(256))), true);
      }
      copy_commit();
    } else {
      copy_commit();
    }
    copy_wait_1();
    NNC_BARRIER();
    const idx stage_46 = (idx(1) - odd_28);
    const idx t_47 = (t_25 + (stage_46 * idx(2560)));
    frag_a16_f16 a_48 = frag_load_frag_a16_f16(left_4, t_47, idx(40));
    frag_a16_f16 a_49 = frag_load_frag_a16_f16(left_4, (t_47 + idx(640)), idx(40));
    const idx t_50 = (wn_4 + (stage_46 * idx(2304)));
    frag_b16_f16 b_51 = frag_load_frag_b16_f16(right_5, t_50, idx(72));
    frag_b16_f16 b_52 = frag_load_frag_b16_f16(right_5, (t_50 + idx(8)), idx(72));
    frag_b16_f16 b_53 = frag_load_frag_b16_f16(right_5, (t_50 + idx(16)), idx(72));
    frag_b16_f16 b_54 = frag_load_frag_b16_f16(right_5, (t_50 + idx(24)), idx(72));
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_5, a_48, b_51);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_6, a_48, b_52);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_7, a_48, b_53);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_8, a_48, b_54);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_9, a_49, b_51);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_10, a_49, b_52);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_11, a_49, b_53);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_12, a_49, b_54);
    frag_a16_f16 a_55 = frag_load_frag_a16_f16(left_4, (t_47 + idx(16)), idx(40));
    frag_a16_f16 a_56 = frag_load_frag_a16_f16(left_4, (t_47 + idx(656)), idx(40));
    frag_b16_f16 b_57 = frag_load_frag_b16_f16(right_5, (t_50 + idx(1152)), idx(72));
    frag_b16_f16 b_58 = frag_load_frag_b16_f16(right_5, (t_50 + idx(1160)), idx(72));
    frag_b16_f16 b_59 = frag_load_frag_b16_f16(right_5, (t_50 + idx(1168)), idx(72));
    frag_b16_f16 b_60 = frag_load_frag_b16_f16(right_5, (t_50 + idx(1176)), idx(72));
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_5, a_55, b_57);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_6, a_55, b_58);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_7, a_55, b_59);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_8, a_55, b_60);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_9, a_56, b_57);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_10, a_56, b_58);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_11, a_56, b_59);
    frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16(c_12, a_56, b_60);
    NNC_BARRIER();
  }
  copy_wait_0();
  const idx t_61 = ((wm_3 * idx(68)) + wn_4);
  frag_store_frag_c16_f32(tile_6, t_61, idx(68), c_5);
  frag_store_frag_c16_f32(tile_6, (t_61 + idx(8)), idx(68), c_6);
  frag_store_frag_c16_f32(tile_6, (t_61 + idx(16)), idx(68), c_7);
  frag_store_frag_c16_f32(tile_6, (t_61 + idx(24)), idx(68), c_8);
  frag_store_frag_c16_f32(tile_6, (t_61 + idx(1088)), idx(68), c_9);
  frag_store_frag_c16_f32(tile_6, (t_61 + idx(1096)), idx(68), c_10);
  frag_store_frag_c16_f32(tile_6, (t_61 + idx(1104)), idx(68), c_11);
  frag_store_frag_c16_f32(tile_6, (t_61 + idx(1112)), idx(68), c_12);
  NNC_BARRIER();
  for (idx e_62 = idx(0), e_62_end = idx(8); e_62 < e_62_end; e_62 += 1) {
    const idx id_63 = (NNC_THREAD + (e_62 * idx(128)));
    const idx row_64 = floordiv_idx(id_63, idx(16));
    const idx col_65 = (floormod_idx(id_63, idx(16)) * idx(4));
    const idx m_66 = (m0_0 + row_64);
    const idx n_67 = (n0_1 + col_65);
    const idx at_68 = ((row_64 * idx(68)) + col_65);
    const f32x4 c_69 = load_f32x4(tile_6, at_68);
    const f32x4 c_70 = cast_even_f32x4_from_f16x4(cast_even_f16x4_from_f32x4(c_69));
    const f16x4 v_71 = load_f16x4(in2, n_67);
    // add
    const f32x4 add_72 = cast_even_f32x4_from_f16x4(cast_even_f16x4_from_f32x4((c_70 + cast_even_f32x4_from_f16x4(v_71))));
    // relu
    const f32x4 relu_73 = cast_even_f32x4_from_f16x4(cast_even_f16x4_from_f32x4(select_f32x4(le_f32x4(add_72, splat_f32x4(bits_f32(0x0ull))), splat_f32x4(bits_f32(0x0ull)), add_72)));
    store_f16x4(out0, ((m_66 * idx(256)) + n_67), cast_even_f16x4_from_f32x4(relu_73));
  }
}

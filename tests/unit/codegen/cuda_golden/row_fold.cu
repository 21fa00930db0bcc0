// nnc kernels for cuda:sm_80
NNC_MASK(4)
NNC_VECTOR(f32, 2)
NNC_VECTOR(f32, 4)
NNC_VECTOR(i32, 4)
NNC_FN i32x4 add_i32x4(i32x4 a, i32x4 b) { return i32x4{add_i(a[0], b[0]), add_i(a[1], b[1]), add_i(a[2], b[2]), add_i(a[3], b[3])}; }
NNC_FN f32 bits_f32(u64 b) { return bits_cast<f32>((u32)b); }
NNC_FN i32 bits_i32(u64 b) { return (i32)b; }
NNC_FN f32x4 cast_bits_f32x4_from_i32x4(i32x4 a) { return f32x4{bits_cast<f32>(a[0]), bits_cast<f32>(a[1]), bits_cast<f32>(a[2]), bits_cast<f32>(a[3])}; }
NNC_FN i32x4 cast_bits_i32x4_from_f32x4(f32x4 a) { return i32x4{bits_cast<i32>(a[0]), bits_cast<i32>(a[1]), bits_cast<i32>(a[2]), bits_cast<i32>(a[3])}; }
NNC_FN f32x4 div_f32x4(f32x4 a, f32x4 b) { return f32x4{div_f(a[0], b[0]), div_f(a[1], b[1]), div_f(a[2], b[2]), div_f(a[3], b[3])}; }
NNC_FN f32 extract_f32x2(f32x2 a, int i) { return a[i]; }
NNC_FN idx floordiv_idx(idx a, idx b) { return floordiv_i(a, b); }
NNC_FN f32x4 fma_f32x4(f32x4 a, f32x4 b, f32x4 c) { return fma_v(a, b, c); }
template <class P, class I> NNC_FN f32 load_f32(P p, I i) { return nnc_load<f32>(p, i); }
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN mx4 lt_f32x4(f32x4 a, f32x4 b) { return mx4{a[0] < b[0], a[1] < b[1], a[2] < b[2], a[3] < b[3]}; }
NNC_FN f32 max_f32(f32 a, f32 b) { return max_f(a, b); }
NNC_FN f32x2 max_f32x2(f32x2 a, f32x2 b) { return f32x2{max_f(a[0], b[0]), max_f(a[1], b[1])}; }
NNC_FN f32x4 max_f32x4(f32x4 a, f32x4 b) { return f32x4{max_f(a[0], b[0]), max_f(a[1], b[1]), max_f(a[2], b[2]), max_f(a[3], b[3])}; }
NNC_FN f32x4 min_f32x4(f32x4 a, f32x4 b) { return f32x4{min_f(a[0], b[0]), min_f(a[1], b[1]), min_f(a[2], b[2]), min_f(a[3], b[3])}; }
NNC_FN f32x4 select_f32x4(mx4 a, f32x4 b, f32x4 c) { return f32x4{a[0] ? b[0] : c[0], a[1] ? b[1] : c[1], a[2] ? b[2] : c[2], a[3] ? b[3] : c[3]}; }
NNC_FN i32x4 select_i32x4(mx4 a, i32x4 b, i32x4 c) { return i32x4{a[0] ? b[0] : c[0], a[1] ? b[1] : c[1], a[2] ? b[2] : c[2], a[3] ? b[3] : c[3]}; }
NNC_FN i32x4 shl_i32x4(i32x4 a, i32x4 b) { return i32x4{shl_i(a[0], b[0]), shl_i(a[1], b[1]), shl_i(a[2], b[2]), shl_i(a[3], b[3])}; }
NNC_FN f32x2 shuffle_f32x4_0_1(f32x4 a, f32x4 b) { return f32x2{a[0], a[1]}; }
NNC_FN f32x2 shuffle_f32x4_2_3(f32x4 a, f32x4 b) { return f32x2{a[2], a[3]}; }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
NNC_FN i32x4 splat_i32x4(i32 a) { return i32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f32(P p, I i, f32 v) { nnc_store<f32>(p, i, v); }
template <class P, class I> NNC_FN void store_f32x4(P p, I i, f32x4 v) { nnc_store<f32x4>(p, i, v); }
NNC_FN f32 warp_shfl_down_f32(f32 v, idx by NNC_LINE) { return nnc_shfl_down(v, by); }

NNC_KERNEL(192, row_fold)(NNC_READ(f32) in0, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx task0 = NNC_TASK; (void)task0;
  f32x4 s_0 = splat_f32x4(bits_f32(0xff800000ull));
  const idx t_1 = (task0 * idx(768));
  for (idx v_2 = NNC_THREAD, v_2_end = idx(192); v_2 < v_2_end; v_2 += 192) {
    const f32x4 v_3 = load_f32x4(in0, (t_1 + (v_2 * idx(4))));
    // reduce
    const f32x4 n_4 = max_f32x4(s_0, v_3);
    s_0 = n_4;
  }
  const f32x2 c_5 = max_f32x2(shuffle_f32x4_0_1(s_0, s_0), shuffle_f32x4_2_3(s_0, s_0));
  const f32 c_6 = max_f32(extract_f32x2(c_5, 0), extract_f32x2(c_5, 1));
  const f32 w_7 = warp_shfl_down_f32(c_6, idx(16));
  const f32 c_8 = max_f32(c_6, w_7);
  const f32 w_9 = warp_shfl_down_f32(c_8, idx(8));
  const f32 c_10 = max_f32(c_8, w_9);
  const f32 w_11 = warp_shfl_down_f32(c_10, idx(4));
  const f32 c_12 = max_f32(c_10, w_11);
  const f32 w_13 = warp_shfl_down_f32(c_12, idx(2));
  const f32 c_14 = max_f32(c_12, w_13);
  const f32 w_15 = warp_shfl_down_f32(c_14, idx(1));
  const f32 c_16 = max_f32(c_14, w_15);
  NNC_SHARED(f32, part_2, 6, 16, 0, 0, 0);
  const bool t_17 = ((NNC_THREAD & 31) == idx(0));
  const idx t_18 = floordiv_idx(NNC_THREAD, idx(32));
  if (t_17) {
    store_f32(part_2, t_18, c_16);
  }
  NNC_BARRIER();
  const f32 v_19 = load_f32(part_2, idx(0));
  const f32 v_20 = load_f32(part_2, idx(1));
  const f32 c_21 = max_f32(v_19, v_20);
  const f32 v_22 = load_f32(part_2, idx(2));
  const f32 c_23 = max_f32(c_21, v_22);
  const f32 v_24 = load_f32(part_2, idx(3));
  const f32 c_25 = max_f32(c_23, v_24);
  const f32 v_26 = load_f32(part_2, idx(4));
  const f32 c_27 = max_f32(c_25, v_26);
  const f32 v_28 = load_f32(part_2, idx(5));
  const f32 c_29 = max_f32(c_27, v_28);
  f32x4 s_30 = splat_f32x4(bits_f32(0x0ull));
  const f32x4 t_31 = splat_f32x4(c_29);
  for (idx v_32 = NNC_THREAD, v_32_end = idx(192); v_32 < v_32_end; v_32 += 192) {
    const f32x4 v_33 = load_f32x4(in0, (t_1 + (v_32 * idx(4))));
    // sub
    const f32x4 sub_34 = (v_33 - t_31);
    // exp
    const f32x4 c_35 = min_f32x4(max_f32x4(sub_34, splat_f32x4(bits_f32(0xc2d00000ull))), splat_f32x4(bits_f32(0x42b20000ull)));
    const f32x4 z_36 = fma_f32x4(c_35, splat_f32x4(bits_f32(0x3fb8aa3bull)), splat_f32x4(bits_f32(0x4b400000ull)));
    const f32x4 n_37 = (z_36 - splat_f32x4(bits_f32(0x4b400000ull)));
    const f32x4 r_38 = fma_f32x4(n_37, splat_f32x4(bits_f32(0xb377d1cfull)), fma_f32x4(n_37, splat_f32x4(bits_f32(0xbf317217ull)), c_35));
    const mx4 falls_39 = lt_f32x4(c_35, splat_f32x4(bits_f32(0x0ull)));
    const f32x4 exp_40 = ((fma_f32x4(fma_f32x4(fma_f32x4(fma_f32x4(fma_f32x4(fma_f32x4(splat_f32x4(bits_f32(0x3ab511a9ull)), r_38, splat_f32x4(bits_f32(0x3c091d36ull))), r_38, splat_f32x4(bits_f32(0x3d2aac7aull))), r_38, splat_f32x4(bits_f32(0x3e2aaa48ull))), r_38, splat_f32x4(bits_f32(0x3efffffeull))), r_38, splat_f32x4(bits_f32(0x3f800000ull))), r_38, splat_f32x4(bits_f32(0x3f800000ull))) * cast_bits_f32x4_from_i32x4(add_i32x4(shl_i32x4(cast_bits_i32x4_from_f32x4(z_36), splat_i32x4(bits_i32(0x17ull))), select_i32x4(falls_39, splat_i32x4(bits_i32(0x5f800000ull)), splat_i32x4(bits_i32(0x1f800000ull)))))) * select_f32x4(falls_39, splat_f32x4(bits_f32(0x1f800000ull)), splat_f32x4(bits_f32(0x5f800000ull))));
    // reduce
    const f32x4 n_41 = (s_30 + exp_40);
    s_30 = n_41;
  }
  const f32x2 c_42 = (shuffle_f32x4_0_1(s_30, s_30) + shuffle_f32x4_2_3(s_30, s_30));
  const f32 c_43 = (extract_f32x2(c_42, 0) + extract_f32x2(c_42, 1));
  const f32 w_44 = warp_shfl_down_f32(c_43, idx(16));
  const f32 c_45 = (c_43 + w_44);
  const f32 w_46 = warp_shfl_down_f32(c_45, idx(8));
  const f32 c_47 = (c_45 + w_46);
  const f32 w_48 = warp_shfl_down_f32(c_47, idx(4));
  const f32 c_49 = (c_47 + w_48);
  const f32 w_50 = warp_shfl_down_f32(c_49, idx(2));
  const f32 c_51 = (c_49 + w_50);
  const f32 w_52 = warp_shfl_down_f32(c_51, idx(1));
  const f32 c_53 = (c_51 + w_52);
  NNC_SHARED(f32, part_3, 6, 16, 32, 6, 1);
  if (t_17) {
    store_f32(part_3, t_18, c_53);
  }
  NNC_BARRIER();
  const f32 v_54 = load_f32(part_3, idx(0));
  const f32 v_55 = load_f32(part_3, idx(1));
  const f32 c_56 = (v_54 + v_55);
  const f32 v_57 = load_f32(part_3, idx(2));
  const f32 c_58 = (c_56 + v_57);
  const f32 v_59 = load_f32(part_3, idx(3));
  const f32 c_60 = (c_58 + v_59);
  const f32 v_61 = load_f32(part_3, idx(4));
  const f32 c_62 = (c_60 + v_61);
  const f32 v_63 = load_f32(part_3, idx(5));
  const f32 c_64 = (c_62 + v_63);
  const f32x4 t_65 = splat_f32x4(c_64);
  for (idx v_66 = NNC_THREAD, v_66_end = idx(192); v_66 < v_66_end; v_66 += 192) {
    const idx t_67 = (t_1 + (v_66 * idx(4)));
    const f32x4 v_68 = load_f32x4(in0, t_67);
    // sub
    const f32x4 sub_69 = (v_68 - t_31);
    // exp
    const f32x4 c_70 = min_f32x4(max_f32x4(sub_69, splat_f32x4(bits_f32(0xc2d00000ull))), splat_f32x4(bits_f32(0x42b20000ull)));
    const f32x4 z_71 = fma_f32x4(c_70, splat_f32x4(bits_f32(0x3fb8aa3bull)), splat_f32x4(bits_f32(0x4b400000ull)));
    const f32x4 n_72 = (z_71 - splat_f32x4(bits_f32(0x4b400000ull)));
    const f32x4 r_73 = fma_f32x4(n_72, splat_f32x4(bits_f32(0xb377d1cfull)), fma_f32x4(n_72, splat_f32x4(bits_f32(0xbf317217ull)), c_70));
    const mx4 falls_74 = lt_f32x4(c_70, splat_f32x4(bits_f32(0x0ull)));
    const f32x4 exp_75 = ((fma_f32x4(fma_f32x4(fma_f32x4(fma_f32x4(fma_f32x4(fma_f32x4(splat_f32x4(bits_f32(0x3ab511a9ull)), r_73, splat_f32x4(bits_f32(0x3c091d36ull))), r_73, splat_f32x4(bits_f32(0x3d2aac7aull))), r_73, splat_f32x4(bits_f32(0x3e2aaa48ull))), r_73, splat_f32x4(bits_f32(0x3efffffeull))), r_73, splat_f32x4(bits_f32(0x3f800000ull))), r_73, splat_f32x4(bits_f32(0x3f800000ull))) * cast_bits_f32x4_from_i32x4(add_i32x4(shl_i32x4(cast_bits_i32x4_from_f32x4(z_71), splat_i32x4(bits_i32(0x17ull))), select_i32x4(falls_74, splat_i32x4(bits_i32(0x5f800000ull)), splat_i32x4(bits_i32(0x1f800000ull)))))) * select_f32x4(falls_74, splat_f32x4(bits_f32(0x1f800000ull)), splat_f32x4(bits_f32(0x5f800000ull))));
    // div
    const f32x4 div_76 = div_f32x4(exp_75, t_65);
    store_f32x4(out0, t_67, div_76);
  }
}

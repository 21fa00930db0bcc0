// nnc kernels for cuda:sm_80
NNC_VECTOR(f32, 4)
NNC_FN f32 bits_f32(u64 b) { return bits_cast<f32>((u32)b); }
template <class S, class G> NNC_FN void copy_async_16(S s, idx si, G g, idx gi, bool m) { nnc_copy_async<16>(s, si, g, gi, m); }
NNC_FN void copy_commit() { nnc_copy_commit(); }
NNC_FN void copy_wait_0() { nnc_copy_wait<0>(); }
NNC_FN void copy_wait_1() { nnc_copy_wait<1>(); }
NNC_FN f32 extract_f32x4(f32x4 a, int i) { return a[i]; }
NNC_FN idx floordiv_idx(idx a, idx b) { return floordiv_i(a, b); }
NNC_FN idx floormod_idx(idx a, idx b) { return floormod_i(a, b); }
NNC_FN f32x4 fma_f32x4(f32x4 a, f32x4 b, f32x4 c) { return fma_v(a, b, c); }
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f32x4(P p, I i, f32x4 v) { nnc_store<f32x4>(p, i, v); }

NNC_KERNEL(128, convolution)(NNC_READ(f32) in0, NNC_READ(f32) in1, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx grid0 = idx(1), grid1 = idx(2);
  const idx task0 = NNC_TASK % grid0, task1 = NNC_TASK / grid0 % grid1, task2 = NNC_TASK / grid0 / grid1;
  (void)task0; (void)task1; (void)task2;
  const idx m0_0 = (task1 * idx(128));
  NNC_SHARED(f32, tile_3, 8192, 16, 0, 0, 0);
  const idx tx_1 = floormod_idx(NNC_THREAD, idx(8));
  const idx ty_2 = floordiv_idx(NNC_THREAD, idx(8));
  f32x4 c_3 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_4 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_5 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_6 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_7 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_8 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_9 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_10 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_11 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_12 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_13 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_14 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_15 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_16 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_17 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_18 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_19 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_20 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_21 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_22 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_23 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_24 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_25 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_26 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_27 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_28 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_29 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_30 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_31 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_32 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_33 = splat_f32x4(bits_f32(0x0ull));
  f32x4 s_34 = splat_f32x4(bits_f32(0x0ull));
  const idx bx_35 = (tx_1 * idx(4));
  NNC_UNROLL
  for (idx c_36 = idx(0), c_36_end = idx(4); c_36 < c_36_end; c_36 += 1) {
    const idx id_37 = (NNC_THREAD + (c_36 * idx(128)));
    const idx f_38 = floormod_idx(id_37, idx(4));
    const idx s_39 = floordiv_idx(id_37, idx(4));
    const idx p_40 = (f_38 * idx(4));
    const idx m_41 = (m0_0 + s_39);
    const idx i_42 = floormod_idx(m_41, idx(16));
    const idx t_43 = floordiv_idx(m_41, idx(16));
    const idx i_44 = floormod_idx(p_40, idx(32));
    const idx t_45 = floordiv_idx(p_40, idx(32));
    const idx i_46 = floormod_idx(t_45, idx(3));
    const idx t_47 = floordiv_idx(t_45, idx(3));
    const idx p_48 = ((t_43 + t_47) + idx(-1));
    const idx p_49 = ((i_42 + i_46) + idx(-1));
    const bool in_50 = (((idx(0) <= p_48) & (p_48 < idx(16))) & ((idx(0) <= p_49) & (p_49 < idx(16))));
    copy_async_16(tile_3, ((s_39 * idx(20)) + p_40), in0, (((((i_44 + (i_42 * idx(32))) + (i_46 * idx(32))) + (t_43 * idx(512))) + (t_47 * idx(512))) + idx(-544)), in_50);
  }
  NNC_UNROLL
  for (idx c_51 = idx(0), c_51_end = idx(2); c_51 < c_51_end; c_51 += 1) {
    const idx id_52 = (NNC_THREAD + (c_51 * idx(128)));
    const idx f_53 = floormod_idx(id_52, idx(16));
    const idx s_54 = floordiv_idx(id_52, idx(16));
    const idx n_55 = (f_53 * idx(4));
    const idx t_56 = (s_54 * idx(64));
    const idx t_57 = (t_56 + n_55);
    copy_async_16(tile_3, (t_57 + idx(5120)), in1, t_57, true);
  }
  copy_commit();
  const idx t_58 = (ty_2 * idx(20));
  for (idx t_59 = idx(0), t_59_end = idx(18); t_59 < t_59_end; t_59 += 1) {
    const idx next_60 = (t_59 + idx(1));
    const idx odd_61 = floormod_idx(next_60, idx(2));
    if ((next_60 < idx(18))) {
      const idx at_62 = (odd_61 * idx(2560));
      const idx t_63 = (next_60 * idx(16));
      NNC_UNROLL
      for (idx c_64 = idx(0), c_64_end = idx(4); c_64 < c_64_end; c_64 += 1) {
        const idx id_65 = (NNC_THREAD + (c_64 * idx(128)));
        const idx f_66 = floormod_idx(id_65, idx(4));
        const idx s_67 = floordiv_idx(id_65, idx(4));
        const idx t_68 = (f_66 * idx(4));
        const idx p_69 = (t_63 + t_68);
        const idx m_70 = (m0_0 + s_67);
        const idx i_71 = floormod_idx(m_70, idx(16));
        const idx t_72 = floordiv_idx(m_70, idx(16));
        const idx i_73 = floormod_idx(p_69, idx(32));
        const idx t_74 = floordiv_idx(p_69, idx(32));
        const idx i_75 = floormod_idx(t_74, idx(3));
        const idx t_76 = floordiv_idx(t_74, idx(3));
        const idx p_77 = ((t_72 + t_76) + idx(-1));
        const idx p_78 = ((i_71 + i_75) + idx(-1));
        const bool in_79 = (((idx(0) <= p_77) & (p_77 < idx(16))) & ((idx(0) <= p_78) & (p_78 < idx(16))));
        copy_async_16(tile_3, ((at_62 + (s_67 * idx(20))) + t_68), in0, (((((i_73 + (i_71 * idx(32))) + (i_75 * idx(32))) + (t_72 * idx(512))) + (t_76 * idx(512))) + idx(-544)), in_79);
      }
      const idx at_80 = ((odd_61 * idx(1024)) + idx(5120));
      NNC_UNROLL
      for (idx c_81 = idx(0), c_81_end = idx(2); c_81 < c_81_end; c_81 += 1) {
        const idx id_82 = (NNC_THREAD + (c_81 * idx(128)));
        const idx f_83 = floormod_idx(id_82, idx(16));
        const idx s_84 = floordiv_idx(id_82, idx(16));
        const idx p_85 = (t_63 + s_84);
        const idx n_86 = (f_83 * idx(4));
        copy_async_16(tile_3, ((at_80 + (s_84 * idx(64))) + n_86), in1, ((p_85 * idx(64)) + n_86), true);
      }
      copy_commit();
    } else {
      copy_commit();
    }
    copy_wait_1();
    NNC_BARRIER();
    const idx stage_87 = (idx(1) - odd_61);
    const idx la_88 = (t_58 + (stage_87 * idx(2560)));
    const idx lb_89 = ((bx_35 + (stage_87 * idx(1024))) + idx(5120));
    NNC_UNROLL
    for (idx p_90 = idx(0), p_90_end = idx(16); p_90 < p_90_end; p_90 += 4) {
      const idx t_91 = (la_88 + p_90);
      const f32x4 a_92 = load_f32x4(tile_3, t_91);
      const f32x4 a_93 = load_f32x4(tile_3, (t_91 + idx(320)));
      const f32x4 a_94 = load_f32x4(tile_3, (t_91 + idx(640)));
      const f32x4 a_95 = load_f32x4(tile_3, (t_91 + idx(960)));
      const f32x4 a_96 = load_f32x4(tile_3, (t_91 + idx(1280)));
      const f32x4 a_97 = load_f32x4(tile_3, (t_91 + idx(1600)));
      const f32x4 a_98 = load_f32x4(tile_3, (t_91 + idx(1920)));
      const f32x4 a_99 = load_f32x4(tile_3, (t_91 + idx(2240)));
      const idx t_100 = (lb_89 + (p_90 * idx(64)));
      const f32x4 b_101 = load_f32x4(tile_3, t_100);
      const f32x4 b_102 = load_f32x4(tile_3, (t_100 + idx(32)));
      const f32x4 t_103 = splat_f32x4(extract_f32x4(a_92, 0));
      c_3 = fma_f32x4(t_103, b_101, c_3);
      c_4 = fma_f32x4(t_103, b_102, c_4);
      const f32x4 t_104 = splat_f32x4(extract_f32x4(a_93, 0));
      c_5 = fma_f32x4(t_104, b_101, c_5);
      c_6 = fma_f32x4(t_104, b_102, c_6);
      const f32x4 t_105 = splat_f32x4(extract_f32x4(a_94, 0));
      c_7 = fma_f32x4(t_105, b_101, c_7);
      c_8 = fma_f32x4(t_105, b_102, c_8);
      const f32x4 t_106 = splat_f32x4(extract_f32x4(a_95, 0));
      c_9 = fma_f32x4(t_106, b_101, c_9);
      c_10 = fma_f32x4(t_106, b_102, c_10);
      const f32x4 t_107 = splat_f32x4(extract_f32x4(a_96, 0));
      c_11 = fma_f32x4(t_107, b_101, c_11);
      c_12 = fma_f32x4(t_107, b_102, c_12);
      const f32x4 t_108 = splat_f32x4(extract_f32x4(a_97, 0));
      c_13 = fma_f32x4(t_108, b_101, c_13);
      c_14 = fma_f32x4(t_108, b_102, c_14);
      const f32x4 t_109 = splat_f32x4(extract_f32x4(a_98, 0));
      c_15 = fma_f32x4(t_109, b_101, c_15);
      c_16 = fma_f32x4(t_109, b_102, c_16);
      const f32x4 t_110 = splat_f32x4(extract_f32x4(a_99, 0));
      c_17 = fma_f32x4(t_110, b_101, c_17);
      c_18 = fma_f32x4(t_110, b_102, c_18);
      const f32x4 b_111 = load_f32x4(tile_3, (t_100 + idx(64)));
      const f32x4 b_112 = load_f32x4(tile_3, (t_100 + idx(96)));
      const f32x4 t_113 = splat_f32x4(extract_f32x4(a_92, 1));
      c_3 = fma_f32x4(t_113, b_111, c_3);
      c_4 = fma_f32x4(t_113, b_112, c_4);
      const f32x4 t_114 = splat_f32x4(extract_f32x4(a_93, 1));
      c_5 = fma_f32x4(t_114, b_111, c_5);
      c_6 = fma_f32x4(t_114, b_112, c_6);
      const f32x4 t_115 = splat_f32x4(extract_f32x4(a_94, 1));
      c_7 = fma_f32x4(t_115, b_111, c_7);
      c_8 = fma_f32x4(t_115, b_112, c_8);
      const f32x4 t_116 = splat_f32x4(extract_f32x4(a_95, 1));
      c_9 = fma_f32x4(t_116, b_111, c_9);
      c_10 = fma_f32x4(t_116, b_112, c_10);
      const f32x4 t_117 = splat_f32x4(extract_f32x4(a_96, 1));
      c_11 = fma_f32x4(t_117, b_111, c_11);
      c_12 = fma_f32x4(t_117, b_112, c_12);
      const f32x4 t_118 = splat_f32x4(extract_f32x4(a_97, 1));
      c_13 = fma_f32x4(t_118, b_111, c_13);
      c_14 = fma_f32x4(t_118, b_112, c_14);
      const f32x4 t_119 = splat_f32x4(extract_f32x4(a_98, 1));
      c_15 = fma_f32x4(t_119, b_111, c_15);
      c_16 = fma_f32x4(t_119, b_112, c_16);
      const f32x4 t_120 = splat_f32x4(extract_f32x4(a_99, 1));
      c_17 = fma_f32x4(t_120, b_111, c_17);
      c_18 = fma_f32x4(t_120, b_112, c_18);
      const f32x4 b_121 = load_f32x4(tile_3, (t_100 + idx(128)));
      const f32x4 b_122 = load_f32x4(tile_3, (t_100 + idx(160)));
      const f32x4 t_123 = splat_f32x4(extract_f32x4(a_92, 2));
      c_3 = fma_f32x4(t_123, b_121, c_3);
      c_4 = fma_f32x4(t_123, b_122, c_4);
      const f32x4 t_124 = splat_f32x4(extract_f32x4(a_93, 2));
      c_5 = fma_f32x4(t_124, b_121, c_5);
      c_6 = fma_f32x4(t_124, b_122, c_6);
      const f32x4 t_125 = splat_f32x4(extract_f32x4(a_94, 2));
      c_7 = fma_f32x4(t_125, b_121, c_7);
      c_8 = fma_f32x4(t_125, b_122, c_8);
      const f32x4 t_126 = splat_f32x4(extract_f32x4(a_95, 2));
      c_9 = fma_f32x4(t_126, b_121, c_9);
      c_10 = fma_f32x4(t_126, b_122, c_10);
      const f32x4 t_127 = splat_f32x4(extract_f32x4(a_96, 2));
      c_11 = fma_f32x4(t_127, b_121, c_11);
      c_12 = fma_f32x4(t_127, b_122, c_12);
      const f32x4 t_128 = splat_f32x4(extract_f32x4(a_97, 2));
      c_13 = fma_f32x4(t_128, b_121, c_13);
      c_14 = fma_f32x4(t_128, b_122, c_14);
      const f32x4 t_129 = splat_f32x4(extract_f32x4(a_98, 2));
      c_15 = fma_f32x4(t_129, b_121, c_15);
      c_16 = fma_f32x4(t_129, b_122, c_16);
      const f32x4 t_130 = splat_f32x4(extract_f32x4(a_99, 2));
      c_17 = fma_f32x4(t_130, b_121, c_17);
      c_18 = fma_f32x4(t_130, b_122, c_18);
      const f32x4 b_131 = load_f32x4(tile_3, (t_100 + idx(192)));
      const f32x4 b_132 = load_f32x4(tile_3, (t_100 + idx(224)));
      const f32x4 t_133 = splat_f32x4(extract_f32x4(a_92, 3));
      c_3 = fma_f32x4(t_133, b_131, c_3);
      c_4 = fma_f32x4(t_133, b_132, c_4);
      const f32x4 t_134 = splat_f32x4(extract_f32x4(a_93, 3));
      c_5 = fma_f32x4(t_134, b_131, c_5);
      c_6 = fma_f32x4(t_134, b_132, c_6);
      const f32x4 t_135 = splat_f32x4(extract_f32x4(a_94, 3));
      c_7 = fma_f32x4(t_135, b_131, c_7);
      c_8 = fma_f32x4(t_135, b_132, c_8);
      const f32x4 t_136 = splat_f32x4(extract_f32x4(a_95, 3));
      c_9 = fma_f32x4(t_136, b_131, c_9);
      c_10 = fma_f32x4(t_136, b_132, c_10);
      const f32x4 t_137 = splat_f32x4(extract_f32x4(a_96, 3));
      c_11 = fma_f32x4(t_137, b_131, c_11);
      c_12 = fma_f32x4(t_137, b_132, c_12);
      const f32x4 t_138 = splat_f32x4(extract_f32x4(a_97, 3));
      c_13 = fma_f32x4(t_138, b_131, c_13);
      c_14 = fma_f32x4(t_138, b_132, c_14);
      const f32x4 t_139 = splat_f32x4(extract_f32x4(a_98, 3));
      c_15 = fma_f32x4(t_139, b_131, c_15);
      c_16 = fma_f32x4(t_139, b_132, c_16);
      const f32x4 t_140 = splat_f32x4(extract_f32x4(a_99, 3));
      c_17 = fma_f32x4(t_140, b_131, c_17);
      c_18 = fma_f32x4(t_140, b_132, c_18);
    }
    if ((floormod_idx(next_60, idx(9)) == idx(0))) {
      s_19 = (s_19 + c_3);
      c_3 = splat_f32x4(bits_f32(0x0ull));
      s_20 = (s_20 + c_4);
      c_4 = splat_f32x4(bits_f32(0x0ull));
      s_21 = (s_21 + c_5);
      c_5 = splat_f32x4(bits_f32(0x0ull));
      s_22 = (s_22 + c_6);
      c_6 = splat_f32x4(bits_f32(0x0ull));
      s_23 = (s_23 + c_7);
      c_7 = splat_f32x4(bits_f32(0x0ull));
      s_24 = (s_24 + c_8);
      c_8 = splat_f32x4(bits_f32(0x0ull));
      s_25 = (s_25 + c_9);
      c_9 = splat_f32x4(bits_f32(0x0ull));
      s_26 = (s_26 + c_10);
      c_10 = splat_f32x4(bits_f32(0x0ull));
      s_27 = (s_27 + c_11);
      c_11 = splat_f32x4(bits_f32(0x0ull));
      s_28 = (s_28 + c_12);
      c_12 = splat_f32x4(bits_f32(0x0ull));
      s_29 = (s_29 + c_13);
      c_13 = splat_f32x4(bits_f32(0x0ull));
      s_30 = (s_30 + c_14);
      c_14 = splat_f32x4(bits_f32(0x0ull));
      s_31 = (s_31 + c_15);
      c_15 = splat_f32x4(bits_f32(0x0ull));
      s_32 = (s_32 + c_16);
      c_16 = splat_f32x4(bits_f32(0x0ull));
      s_33 = (s_33 + c_17);
      c_17 = splat_f32x4(bits_f32(0x0ull));
      s_34 = (s_34 + c_18);
      c_18 = splat_f32x4(bits_f32(0x0ull));
    }
    NNC_BARRIER();
  }
  copy_wait_0();
  const idx t_141 = ((ty_2 * idx(64)) + bx_35);
  store_f32x4(tile_3, t_141, (s_19 + c_3));
  store_f32x4(tile_3, (t_141 + idx(32)), (s_20 + c_4));
  store_f32x4(tile_3, (t_141 + idx(1024)), (s_21 + c_5));
  store_f32x4(tile_3, (t_141 + idx(1056)), (s_22 + c_6));
  store_f32x4(tile_3, (t_141 + idx(2048)), (s_23 + c_7));
  store_f32x4(tile_3, (t_141 + idx(2080)), (s_24 + c_8));
  store_f32x4(tile_3, (t_141 + idx(3072)), (s_25 + c_9));
  store_f32x4(tile_3, (t_141 + idx(3104)), (s_26 + c_10));
  store_f32x4(tile_3, (t_141 + idx(4096)), (s_27 + c_11));
  store_f32x4(tile_3, (t_141 + idx(4128)), (s_28 + c_12));
  store_f32x4(tile_3, (t_141 + idx(5120)), (s_29 + c_13));
  store_f32x4(tile_3, (t_141 + idx(5152)), (s_30 + c_14));
  store_f32x4(tile_3, (t_141 + idx(6144)), (s_31 + c_15));
  store_f32x4(tile_3, (t_141 + idx(6176)), (s_32 + c_16));
  store_f32x4(tile_3, (t_141 + idx(7168)), (s_33 + c_17));
  store_f32x4(tile_3, (t_141 + idx(7200)), (s_34 + c_18));
  NNC_BARRIER();
  for (idx e_142 = idx(0), e_142_end = idx(16); e_142 < e_142_end; e_142 += 1) {
    const idx id_143 = (NNC_THREAD + (e_142 * idx(128)));
    const idx row_144 = floordiv_idx(id_143, idx(16));
    const idx col_145 = (floormod_idx(id_143, idx(16)) * idx(4));
    const idx m_146 = (m0_0 + row_144);
    const idx at_147 = ((row_144 * idx(64)) + col_145);
    const f32x4 c_148 = load_f32x4(tile_3, at_147);
    store_f32x4(out0, ((m_146 * idx(64)) + col_145), c_148);
  }
}

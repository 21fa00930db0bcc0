#include "codegen/elf_check.h"

#include <elf.h>

#include <cstring>

#include "ir/support/text.h"

namespace nnc {

namespace {
template <class T> bool read_at(ByteView b, uint64_t offset, T* out) {
  if (offset > b.size() || b.size() - offset < sizeof(T)) return false;
  std::memcpy(out, b.data() + offset, sizeof(T));
  return true;
}
Error bad(std::string what) { return Error(Code::kInvalidData, cat("native code is not a shared object of ours: ", what)); }
}  // namespace

Status check_shared_object(ByteView b) {
  Elf64_Ehdr h;
  if (!read_at(b, 0, &h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return bad("no ELF header");
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64 || h.e_type != ET_DYN) return bad("not an x86-64 shared object");
  if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_phentsize != sizeof(Elf64_Phdr)) return bad("unexpected header sizes");
  for (int i = 0; i < h.e_shnum; ++i) {
    Elf64_Shdr s;
    if (!read_at(b, h.e_shoff + static_cast<uint64_t>(i) * sizeof(s), &s)) return bad("truncated section table");
    if (s.sh_type == SHT_INIT_ARRAY || s.sh_type == SHT_FINI_ARRAY || s.sh_type == SHT_PREINIT_ARRAY) return bad("it has initialisers");
    if (s.sh_type != SHT_DYNSYM) continue;
    for (uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym sym;
      if (!read_at(b, s.sh_offset + at, &sym)) return bad("truncated symbol table");
      if (sym.st_shndx == SHN_UNDEF) return bad("it has undefined symbols");
    }
  }
  for (int i = 0; i < h.e_phnum; ++i) {
    Elf64_Phdr p;
    if (!read_at(b, h.e_phoff + static_cast<uint64_t>(i) * sizeof(p), &p)) return bad("truncated program headers");
    if (p.p_type == PT_INTERP) return bad("it names an interpreter");
    if (p.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= p.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn d;
      if (!read_at(b, p.p_offset + at, &d)) return bad("truncated dynamic section");
      if (d.d_tag == DT_NULL) break;
      if (d.d_tag == DT_NEEDED || d.d_tag == DT_INIT || d.d_tag == DT_FINI || d.d_tag == DT_INIT_ARRAY)
        return bad("it needs libraries or has initialisers");
    }
  }
  return {};
}

}  // namespace nnc

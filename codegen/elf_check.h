#pragma once
// What a shared object of ours must be before it is loaded or stored: x86-64 ELF, nothing undefined, no initialisers, no needed libraries.

#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc {
Status check_shared_object(ByteView bytes);
}

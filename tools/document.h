#pragma once
// The frame of every JSON document: schema, program, host, what was asked for. The caller adds fields and closes it with `finish`.

#include "tools/console.h"
#include "tools/json.h"
#include "tools/options.h"

namespace nnc::tool {

// {"schema": "nnc.run/1", "nnc": {...}, "host": {...}, "args": [...]; the object stays open.
JsonWriter begin_document(std::string_view command, const Arguments& a);
void finish_document(JsonWriter& w, Console& console);

std::string_view version_text();
// "Intel(R) Xeon(R) ...", or empty.
std::string processor_name();

}  // namespace nnc::tool

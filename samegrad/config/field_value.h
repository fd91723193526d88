// One value of one field: from text or JSON into a RunConfig, checked.
#pragma once

#include <string>
#include <string_view>

#include "samegrad/base/json.h"
#include "samegrad/config/fields.h"
#include "samegrad/config/origins.h"

namespace samegrad {

/// Sets `field` from `text` ("100", "1e-3", "true", "adamw"), checked against its type and limits. Throws InputError
/// "[config] WHERE: NAME: ..." that names the value as `origin` gave it, and what is allowed. Local.
void set_field_from_text(RunConfig& config, const Field& field, std::string_view text, const Origin& origin);

/// Sets `field` from a JSON value of its own type (a whole number is a number, too). Throws InputError "[config] WHERE:
/// KEY: ...". Local.
void set_field_from_json(RunConfig& config, const Field& field, const Json& value, const std::string& where);

/// The value of `field` as JSON. Local.
Json field_to_json(RunConfig config, const Field& field);

/// Throws InputError when the value that `config` holds is outside the limits of `field`; `origins` says who gave it.
/// Local.
void check_field(RunConfig config, const Field& field, const Origins& origins);

}  // namespace samegrad

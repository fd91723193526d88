#include "samegrad/config/yaml_source.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "samegrad/base/error.h"
#include "samegrad/base/mapped_file.h"
#include "samegrad/base/nearest_name.h"
#include "samegrad/config/refusals.h"
#include "samegrad/config/trainer_names.h"

namespace samegrad {
namespace {

/// yaml-cpp takes several hundred bytes for each value.
constexpr std::size_t kLargestFile = std::size_t{256} << 10;

std::string show(std::string_view key) { return "'" + std::string(key.substr(0, 80)) + "'"; }

/// What to do about an unknown name that is near to `suggested`, or to none.
std::string hint_for(const std::string& suggested) {
  return suggested.empty() ? "; `samegrad config` lists all; leave it out where samegrad has no such setting"
                           : suggested;
}

/// The key that a command-line option stands for; nullptr for any other word.
const char* key_of_option(std::string_view option) {
  if (option == "--stop-at" || option == "--continuous") return "plan.stop_at";
  return option == "--backend" ? "run.backend" : nullptr;
}

/// Counts what a text holds before anything is built of it.
class YamlCount : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override { ++documents; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}

  std::int64_t documents = 0;
};

/// The one document of `text`; throws YAML::Exception. Not YAML::LoadAll: where a text begins with what no document can
/// (","), yaml-cpp's parser stands still, and LoadAll adds documents until the memory is full.
YAML::Node load_document(const std::string& text, const std::string& file) {
  std::istringstream input(text);
  YAML::Parser parser(input);
  YamlCount count;
  while (count.documents < 2 && parser.HandleNextDocument(count)) {
  }
  if (count.documents > 1) {
    throw InputError("config", file + ": more than one YAML document, or text that is none; a config is one");
  }
  return YAML::Load(text);
}

class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  std::vector<Assignment> read(const YAML::Node& root) {
    if (root.IsNull()) {
      return {};
    }
    if (!root.IsMap()) {
      refuse(root.Mark(), "no mapping of sections; a config looks like `plan:` and, indented below it, `updates: 100`");
    }
    for (const auto& entry : root) {
      refusals_.collect([&] { read_entry(entry.first, entry.second); });
    }
    refusals_.throw_if_any();
    return std::move(assignments_);
  }

 private:
  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& message) const {
    throw InputError("config", place(mark) + ": " + message);
  }

  std::string place(const YAML::Mark& mark) const {
    return mark.is_null() ? file_ : file_ + ":" + std::to_string(mark.line + 1);
  }

  std::string key_text(const YAML::Node& key) const {
    if (!key.IsScalar()) {
      refuse(key.Mark(), "a key must be a plain name");
    }
    return key.Scalar();
  }

  void read_entry(const YAML::Node& name, const YAML::Node& value) {
    const std::string key = key_text(name);
    const auto sections = config_sections();
    if (std::find(sections.begin(), sections.end(), key) != sections.end()) {
      read_section(key, name.Mark(), value);
    } else {
      read_top_level(key, name.Mark(), value);
    }
  }

  void read_section(const std::string& section, const YAML::Mark& mark, const YAML::Node& node) {
    if (std::find(sections_seen_.begin(), sections_seen_.end(), section) != sections_seen_.end()) {
      refuse(mark, "section '" + section + "' is given twice");
    }
    sections_seen_.push_back(section);
    if (node.IsNull()) {
      return;
    }
    if (!node.IsMap()) {
      refuse(mark, "section '" + section + "' needs indented lines `name: value`");
    }
    for (const auto& entry : node) {
      refusals_.collect([&] {
        const std::string key = section + "." + key_text(entry.first);
        const Field* const field = find_field(key);
        if (field == nullptr) refuse(entry.first.Mark(), "unknown key " + show(key) + hint_for(suggest_field(key)));
        assign(key, field, entry.first.Mark(), entry.second);
      });
    }
  }

  void read_top_level(const std::string& key, const YAML::Mark& mark, const YAML::Node& node) {
    const Field* const field = find_field(key);
    if (field == nullptr && find_trainer_name(key) == nullptr) {
      const std::string near = node.IsMap() ? suggestion(key, config_sections()) : suggest_field(key);
      refuse(mark, (node.IsMap() ? "unknown section " : "unknown key ") + show(key) + hint_for(near));
    }
    assign(key, field, mark, node);
  }

  /// `field` may be null where find_trainer_name(name) is not.
  void assign(const std::string& name, const Field* field, const YAML::Mark& mark, const YAML::Node& value) {
    const auto same = [&](const Assignment& earlier) {
      return earlier.field == field && (field != nullptr || earlier.origin.name == name);
    };
    const auto earlier = std::find_if(assignments_.begin(), assignments_.end(), same);
    if (earlier != assignments_.end()) {
      refuse(mark,
             name + ": given twice" +
                 (earlier->origin.name == name ? "" : ", as " + earlier->origin.name + " at " + earlier->origin.where));
    }
    RunConfig scratch;
    const bool of_trainer = find_trainer_name(name) != nullptr;
    const bool takes_list = field != nullptr && std::holds_alternative<std::vector<double>*>(field->target(scratch));
    const bool may_be_empty =
        of_trainer || (field != nullptr && std::holds_alternative<std::string*>(field->target(scratch)));
    std::string given;
    if (value.IsScalar()) {
      given = value.Scalar();
    } else if (value.IsSequence() && (takes_list || field == nullptr)) {
      given = list_text(name, field, mark, value);
    } else if (value.IsMap() && field == nullptr) {
      given = value.size() == 0 ? "{}" : "{...}";
    } else if (!(value.IsNull() && may_be_empty)) {
      refuse(mark, name + ": " + (value.IsNull() ? "no value" : "not a single value") +
                       (field == nullptr ? "" : "; allowed: " + allowed_values(*field)));
    }
    const Origin origin{.name = name, .given = given, .where = place(mark)};
    assignments_.push_back({field, translate_value(origin), origin});
  }

  /// `field` may be null, as above.
  std::string list_text(const std::string& name, const Field* field, const YAML::Mark& mark,
                        const YAML::Node& list) const {
    std::string text = "[";
    for (const auto& element : list) {
      if (!element.IsScalar()) {
        refuse(mark, name + ": not a list of single values" +
                         (field == nullptr ? "" : "; allowed: " + allowed_values(*field)));
      }
      text += (text.size() == 1 ? "" : ", ") + element.Scalar();
    }
    return text + "]";
  }

  std::string file_;
  std::vector<std::string> sections_seen_;
  std::vector<Assignment> assignments_;
  Refusals refusals_;
};

}  // namespace

std::vector<Assignment> read_yaml_assignments(const std::filesystem::path& path) {
  const MappedFile file(path, "config");
  if (file.bytes().size() > kLargestFile) {
    throw InputError("config", path.string() + ": " + std::to_string(file.bytes().size()) +
                                   " bytes; a config has at most " + std::to_string(kLargestFile));
  }
  try {
    return YamlReader(path.string()).read(load_document(std::string(file.bytes()), path.string()));
  } catch (const YAML::Exception& error) {
    const std::string line = error.mark.is_null() ? "" : ":" + std::to_string(error.mark.line + 1);
    throw InputError("config", path.string() + line + ": not YAML: " + error.msg);
  }
}

Assignment parse_override(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string key = text.substr(0, equals);
  if (const char* const of_option = key_of_option(key)) {
    const std::string given = text == "--continuous" ? "0" : text.substr(std::min(equals + 1, text.size()));
    return {find_field(of_option), given, {.name = key, .given = given, .where = {}}};
  }
  if (equals == text.size() || equals == 0) {
    throw InputError("config", "--set " + text + ": needs key=value, for example --set plan.updates=10");
  }
  const Field* const field = find_field(key);
  if (field == nullptr && find_trainer_name(key) == nullptr) {
    throw InputError("config", "--set " + text + ": unknown key " + show(key) + hint_for(suggest_field(key)));
  }
  const Origin origin{.name = key, .given = text.substr(equals + 1), .where = "--set " + text};
  return {field, translate_value(origin), origin};
}

}  // namespace samegrad

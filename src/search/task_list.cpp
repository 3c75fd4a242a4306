#include "src/search/task_list.hpp"

#include <fmt/format.h>

#include "src/results/json_output.hpp"
#include "src/settings/parse.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/task.hpp"

namespace rewise {
namespace {

constexpr const char* kFile = "tasks.json";

// The digest of the contents of tasks.json.
std::string digest_of(const LastRun& run) {
  TextMap all = run.tasks;  // their ids are hexadecimal, unlike these keys
  all["command"] = run.command;
  all["configuration"] = run.configuration;
  return task_id(all);
}

// The content of tasks.json; nullopt if it is invalid. Files of earlier versions have no digest.
std::optional<LastRun> parse_last_run(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("tasks") || !json["tasks"].is_object()) {
    return std::nullopt;
  }
  const auto word = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  LastRun run{word("command"), word("configuration"), {}};
  for (const auto& [id, purpose] : json["tasks"].items()) {
    if (!purpose.is_string()) return std::nullopt;
    run.tasks[id] = purpose.get<std::string>();
  }
  if (json.contains("digest") && word("digest") != digest_of(run)) return std::nullopt;
  return run;
}

}  // namespace

void write_last_run(const StudyFolder& place, const std::string& command,
                    const RequestedTasks& requested) {
  Json json;
  json["format"] = "rewise tasks";
  json["format_version"] = 1;
  json["command"] = command;
  json["configuration"] = place.hash();
  json["tasks"] = requested;
  json["digest"] = digest_of({command, place.hash(), requested});
  write_text_file(place.path() / kFile, json.dump(1) + "\n");
}

std::optional<LastRun> read_last_run(const std::filesystem::path& folder,
                                     std::vector<std::string>& problems) {
  const std::filesystem::path file = folder / kFile;
  if (!file_exists(file)) return std::nullopt;
  auto run = parse_last_run(read_text_file(file));
  if (!run) {
    problems.push_back(fmt::format(
        "{} is damaged and is not used; running the study again writes it again", file.string()));
  }
  return run;
}

}  // namespace rewise

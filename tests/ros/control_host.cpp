// Runs the class behind the ros2_control plugin without ROS: parameters as NAME=VALUE, then a script on standard input.
//   take JOINT/KIND... | give JOINT/KIND... | command JOINT KIND VALUE | sensor NAME KEY VALUE | write PERIOD N | show | reset
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cutjoint_control/mechanism.hpp"

using namespace cutjoint_control;

int main(int argc, char ** argv)
{
  try {
    Parameters parameters;
    for (int k = 1; k < argc; ++k) {
      const std::string word = argv[k];
      const auto equals = word.find('=');
      parameters[word.substr(0, equals)] = word.substr(equals + 1);
    }
    Mechanism mechanism(parameters);
    std::vector<Sensor *> sensors;
    std::string refused;
    for (std::string line; std::getline(std::cin, line); ) {
      std::istringstream words(line);
      std::string what, joint, kind;
      double value = 0;
      long n = 0;
      words >> what;
      if (what == "take" || what == "give") {
        std::vector<std::string> keys[2];
        for (std::string key; words >> key; ) {
          keys[what == "take"].push_back(key);
        }
        mechanism.hear(mechanism.switched(keys[0], keys[1]));
      } else if (what == "command") {
        std::string text;
        words >> joint >> kind >> text;
        value = std::stod(text);  // NaN too
        mechanism.joint(joint).command.at(Order::named(kind)) = value;
      } else if (what == "sensor") {
        std::string text;
        words >> joint >> kind >> text;
        sensors.push_back(&mechanism.add_sensor(joint, {{kind, text}}));
      } else if (what == "reset") {
        mechanism.reset();
      } else if (what == "write") {
        words >> value >> n;
        for (long k = 0; k < n; ++k) {
          mechanism.read();
          if (!mechanism.write(value)) {
            std::printf("fault %s\n", mechanism.fault().c_str());
          }
          if (mechanism.refused() != refused) {
            refused = mechanism.refused();
            std::fprintf(stderr, "refused: %s\n", refused.c_str());
          }
        }
      } else if (what == "show") {
        mechanism.read();
        std::printf("time %a\n", mechanism.time());
        for (const auto & each : mechanism.joints()) {
          std::printf(
            "%s %a %a %a %a\n", each.name.c_str(), each.position, each.velocity, each.effort, each.acceleration);
        }
        for (const Sensor * sensor : sensors) {
          for (const auto & each : sensor->readings) {
            std::printf("%s/%s %a\n", sensor->name.c_str(), each.name.c_str(), each.value);
          }
        }
      }
    }
    return 0;
  } catch (const std::exception & problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}

// A thin adapter: ros2_control's SystemInterface around a Mechanism.
#include <hardware_interface/handle.hpp>
#include <hardware_interface/system_interface.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#if __has_include(<hardware_interface/types/hardware_component_interface_params.hpp>)
#include <hardware_interface/types/hardware_component_interface_params.hpp>
#define CUTJOINT_PARAMS HardwareComponentInterfaceParams
#else  // humble and the first of jazzy
#define CUTJOINT_PARAMS HardwareInfo
#endif
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/state.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cutjoint_control/mechanism.hpp"

namespace cutjoint_control
{
using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

class System : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_init(const hardware_interface::CUTJOINT_PARAMS & given) override
  {
    if (SystemInterface::on_init(given) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    const hardware_interface::HardwareInfo & info = info_;
    try {
      const Parameters parameters(info.hardware_parameters.begin(), info.hardware_parameters.end());
      mechanism_ = std::make_unique<Mechanism>(parameters);
      parts_ = info.joints;
      parts_.insert(parts_.end(), info.gpios.begin(), info.gpios.end());
      for (const auto & each : parts_) {
        const Joint & joint = mechanism_->joint(each.name);
        check_known(Parameters(each.parameters.begin(), each.parameters.end()), {}, "joint '" + each.name + "'");
        if (!each.command_interfaces.empty() && joint.input < 0) {
          throw std::runtime_error("cutjoint: joint '" + each.name + "' has no drive and takes no commands");
        }
        for (const auto & interface : each.command_interfaces) {
          if (Order::named(interface.name) == Order::count) {
            throw std::runtime_error("cutjoint: joint '" + each.name + "' can't be told its '" + interface.name + "'");
          }
        }
      }
      for (const auto & each : info.sensors) {
        sensors_.push_back(
          &mechanism_->add_sensor(each.name, Parameters(each.parameters.begin(), each.parameters.end())));
      }
    } catch (const std::exception & problem) {
      RCLCPP_FATAL(rclcpp::get_logger("cutjoint_control"), "%s", problem.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  std::vector<hardware_interface::StateInterface> export_state_interfaces() override
  {
    std::vector<hardware_interface::StateInterface> found;
    for (const auto & each : parts_) {
      Joint & joint = mechanism_->joint(each.name);
      found.emplace_back(each.name, hardware_interface::HW_IF_POSITION, &joint.position);
      found.emplace_back(each.name, hardware_interface::HW_IF_VELOCITY, &joint.velocity);
      found.emplace_back(each.name, hardware_interface::HW_IF_EFFORT, &joint.effort);
      found.emplace_back(each.name, hardware_interface::HW_IF_ACCELERATION, &joint.acceleration);
    }
    for (Sensor * sensor : sensors_) {
      for (auto & each : sensor->readings) {
        found.emplace_back(sensor->name, each.name, &each.value);
      }
    }
    return found;
  }

  std::vector<hardware_interface::CommandInterface> export_command_interfaces() override
  {
    std::vector<hardware_interface::CommandInterface> found;
    for (const auto & each : parts_) {
      for (const auto & interface : each.command_interfaces) {
        double & command = mechanism_->joint(each.name).command.at(Order::named(interface.name));
        found.emplace_back(each.name, interface.name, &command);
      }
    }
    return found;
  }

  return_type prepare_command_mode_switch(
    const std::vector<std::string> & starts, const std::vector<std::string> & stops) override
  {
    try {
      mechanism_->switched(stops, starts);
    } catch (const std::exception & problem) {
      RCLCPP_ERROR(rclcpp::get_logger("cutjoint_control"), "%s", problem.what());
      return return_type::ERROR;
    }
    return return_type::OK;
  }

  return_type perform_command_mode_switch(
    const std::vector<std::string> & starts, const std::vector<std::string> & stops) override
  {
    mechanism_->hear(mechanism_->switched(stops, starts));
    return return_type::OK;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    try {
      mechanism_->reset();
    } catch (const std::exception & problem) {
      RCLCPP_FATAL(rclcpp::get_logger("cutjoint_control"), "%s", problem.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_error(const rclcpp_lifecycle::State &) override
  {
    return CallbackReturn::SUCCESS;  // after a fault it can be activated again, which starts anew
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    mechanism_->read();
    return return_type::OK;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    if (mechanism_->write(period.seconds())) {
      if (mechanism_->refused() != refused_) {
        refused_ = mechanism_->refused();
        if (!refused_.empty()) {
          RCLCPP_ERROR(rclcpp::get_logger("cutjoint_control"), "%s", refused_.c_str());
        }
      }
      return return_type::OK;
    }
    RCLCPP_ERROR(rclcpp::get_logger("cutjoint_control"), "%s", mechanism_->fault().c_str());
    return return_type::ERROR;
  }

private:
  std::unique_ptr<Mechanism> mechanism_;
  std::vector<hardware_interface::ComponentInfo> parts_;  // joints, and what a tree does not have
  std::vector<Sensor *> sensors_;
  std::string refused_;  // what was said last
};

}  // namespace cutjoint_control

#include <pluginlib/class_list_macros.hpp>
PLUGINLIB_EXPORT_CLASS(cutjoint_control::System, hardware_interface::SystemInterface)

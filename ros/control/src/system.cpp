// A thin adapter: ros2_control's SystemInterface around a Mechanism.
#include <hardware_interface/handle.hpp>
#include <hardware_interface/system_interface.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/state.hpp>

#include <exception>
#include <memory>
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
  CallbackReturn on_init(const hardware_interface::HardwareInfo & info) override
  {
    if (SystemInterface::on_init(info) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    try {
      const Parameters parameters(info.hardware_parameters.begin(), info.hardware_parameters.end());
      mechanism_ = std::make_unique<Mechanism>(parameters);
      parts_ = info.joints;
      parts_.insert(parts_.end(), info.gpios.begin(), info.gpios.end());
      for (const auto & each : parts_) {
        const Joint & joint = mechanism_->joint(each.name);
        if (!each.command_interfaces.empty() && joint.input < 0) {
          throw std::runtime_error("cutjoint: joint '" + each.name + "' has no drive and takes no commands");
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
        Joint & joint = mechanism_->joint(each.name);
        found.emplace_back(each.name, interface.name, &joint.command[static_cast<int>(order(interface.name))]);
      }
    }
    return found;
  }

  return_type perform_command_mode_switch(
    const std::vector<std::string> & starts, const std::vector<std::string> & stops) override
  {
    for (const auto & each : stops) {
      tell(each, false);
    }
    for (const auto & each : starts) {
      tell(each, true);
    }
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

  return_type read(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    mechanism_->read();
    return return_type::OK;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    if (mechanism_->write(period.seconds())) {
      return return_type::OK;
    }
    RCLCPP_ERROR(rclcpp::get_logger("cutjoint_control"), "%s", mechanism_->fault().c_str());
    return return_type::ERROR;
  }

private:
  static Order order(const std::string & name)
  {
    return name == hardware_interface::HW_IF_POSITION ? Order::position :
           name == hardware_interface::HW_IF_VELOCITY ? Order::velocity : Order::effort;
  }

  void tell(const std::string & key, bool starts)
  {
    const auto slash = key.rfind('/');
    for (auto & joint : mechanism_->joints()) {
      if (slash != std::string::npos && joint.name == key.substr(0, slash)) {
        const Order wanted = order(key.substr(slash + 1));
        if (starts) {
          joint.order = wanted;
        } else if (joint.order == wanted) {
          joint.order = Order::none;
        }
      }
    }
  }

  std::unique_ptr<Mechanism> mechanism_;
  std::vector<hardware_interface::ComponentInfo> parts_;  // joints, and what a tree does not have
  std::vector<Sensor *> sensors_;
};

}  // namespace cutjoint_control

#include <pluginlib/class_list_macros.hpp>
PLUGINLIB_EXPORT_CLASS(cutjoint_control::System, hardware_interface::SystemInterface)

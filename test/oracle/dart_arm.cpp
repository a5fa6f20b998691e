// SPDX-License-Identifier: MIT
//
// A robot in DART 6.12. Its loader seeks the visual meshes, which are left out of the test data,
// and gives up a link without them: they are cut out of the text, and the collision meshes as well.

#include "dart_arm.h"

#include <fstream>
#include <sstream>
#include <string>

#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/DegreeOfFreedom.hpp>
#include <dart/dynamics/Joint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/utils/urdf/DartLoader.hpp>

struct dart_arm {
    dart::dynamics::SkeletonPtr skeleton;
};

// removes <name ...> ... </name>; such elements are not nested in URDF
static void cut(std::string &text, const std::string &name) {
    const std::string close = "</" + name + ">";
    for (;;) {
        const size_t begin = text.find("<" + name);
        if (begin == std::string::npos) {
            return;
        }
        const size_t end = text.find(close, begin);
        if (end == std::string::npos) {
            return;
        }
        text.erase(begin, end + close.size() - begin);
    }
}

dart_arm *dart_arm_load(const char *path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::string robot = text.str();
    cut(robot, "visual");
    cut(robot, "collision");
    dart::utils::DartLoader loader;
    dart::dynamics::SkeletonPtr skeleton =
        loader.parseSkeletonString(robot, dart::common::Uri::createFromPath(path));
    if (!skeleton) {
        return nullptr;
    }
    skeleton->setGravity(Eigen::Vector3d(0.0, 0.0, -9.81));
    return new dart_arm{skeleton};
}

void dart_arm_destroy(dart_arm *arm) {
    delete arm;
}

int dart_arm_n_dof(const dart_arm *arm) {
    return static_cast<int>(arm->skeleton->getNumDofs());
}

int dart_arm_n_body(const dart_arm *arm) {
    return static_cast<int>(arm->skeleton->getNumBodyNodes());
}

const char *dart_arm_joint_name(const dart_arm *arm, int dof) {
    return arm->skeleton->getDof(static_cast<size_t>(dof))->getJoint()->getName().c_str();
}

const char *dart_arm_body_name(const dart_arm *arm, int body) {
    return arm->skeleton->getBodyNode(static_cast<size_t>(body))->getName().c_str();
}

double dart_arm_mass(const dart_arm *arm, int body) {
    return arm->skeleton->getBodyNode(static_cast<size_t>(body))->getMass();
}

double dart_arm_total_mass(const dart_arm *arm) {
    return arm->skeleton->getMass();
}

void dart_arm_set(dart_arm *arm, const double *q, const double *v, const double *tau) {
    const int n = dart_arm_n_dof(arm);
    arm->skeleton->setPositions(Eigen::Map<const Eigen::VectorXd>(q, n));
    arm->skeleton->setVelocities(Eigen::Map<const Eigen::VectorXd>(v, n));
    arm->skeleton->setForces(Eigen::Map<const Eigen::VectorXd>(tau, n));
}

void dart_arm_pose(const dart_arm *arm, int body, double pos[3], double R[9]) {
    const Eigen::Isometry3d &pose =
        arm->skeleton->getBodyNode(static_cast<size_t>(body))->getWorldTransform();
    for (int i = 0; i < 3; i++) {
        pos[i] = pose.translation()[i];
        for (int j = 0; j < 3; j++) {
            R[3 * i + j] = pose.linear()(i, j);
        }
    }
}

void dart_arm_mass_matrix(const dart_arm *arm, double *M) {
    const int n = dart_arm_n_dof(arm);
    Eigen::Map<Eigen::MatrixXd>(M, n, n) = arm->skeleton->getMassMatrix();
}

void dart_arm_bias(const dart_arm *arm, double *c) {
    Eigen::Map<Eigen::VectorXd>(c, dart_arm_n_dof(arm)) =
        arm->skeleton->getCoriolisAndGravityForces();
}

void dart_arm_accel(dart_arm *arm, double *a) {
    arm->skeleton->computeForwardDynamics();
    Eigen::Map<Eigen::VectorXd>(a, dart_arm_n_dof(arm)) = arm->skeleton->getAccelerations();
}

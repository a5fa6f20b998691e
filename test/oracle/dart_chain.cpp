// SPDX-License-Identifier: MIT
//
// A chain of boxes above a floor in DART 6.12, with its own collision detector, which finds the
// corners of a box exactly, and its boxed LCP solved by Dantzig's method. What DART adds to rigid
// contact is turned off or made as small as it allows: the speed that opens an overlap is 0 and the
// diagonal of the contact matrix grows by 1e-9 of itself.

#include "dart_chain.h"

#include <memory>

#include <dart/collision/CollisionResult.hpp>
#include <dart/collision/dart/DARTCollisionDetector.hpp>
#include <dart/constraint/ConstraintSolver.hpp>
#include <dart/constraint/ContactConstraint.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/BoxShape.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <dart/simulation/World.hpp>

using namespace dart::dynamics;

struct dart_chain {
    dart::simulation::WorldPtr world;
    SkeletonPtr links;
};

static void add_shape(BodyNode *body, const ShapePtr &shape, const Eigen::Vector3d &place,
                      double mu) {
    ShapeNode *node = body->createShapeNodeWith<CollisionAspect, DynamicsAspect>(shape);
    node->setRelativeTranslation(place);
    node->getDynamicsAspect()->setFrictionCoeff(mu);
    node->getDynamicsAspect()->setRestitutionCoeff(0.0);
}

static SkeletonPtr make_floor(double mu) {
    SkeletonPtr floor = Skeleton::create("floor");
    BodyNode *body = floor->createJointAndBodyNodePair<WeldJoint>().second;
    // thicker than any link is long, so that the top is the nearest face
    add_shape(body, std::make_shared<BoxShape>(Eigen::Vector3d(40.0, 40.0, 8.0)),
              Eigen::Vector3d(0.0, 0.0, -4.0), mu);
    floor->setMobile(false);
    return floor;
}

static SkeletonPtr make_links(const dart_chain_def *def) {
    SkeletonPtr links = Skeleton::create("links");
    BodyNode *body = nullptr;
    const Eigen::Vector3d half(def->half[0], def->half[1], def->half[2]);
    const auto shape = std::make_shared<BoxShape>(2.0 * half);
    for (int i = 0; i < def->n_link; i++) {
        const Eigen::Vector3d centre(i == 0 ? 0.0 : half[0], 0.0, 0.0);
        if (i == 0) {
            body = links->createJointAndBodyNodePair<FreeJoint>().second;
        } else {
            RevoluteJoint::Properties hinge;
            hinge.mName = "hinge" + std::to_string(i);
            hinge.mAxis = Eigen::Vector3d::UnitY();
            hinge.mT_ParentBodyToJoint.translation()[0] = i == 1 ? half[0] : 2.0 * half[0];
            // names of its own, or DART prints that it makes them up
            BodyNode::AspectProperties link("link" + std::to_string(i));
            body = links->createJointAndBodyNodePair<RevoluteJoint>(body, hinge, link).second;
        }
        Inertia inertia(def->mass, centre, shape->computeInertia(def->mass));
        body->setInertia(inertia);
        add_shape(body, shape, centre, def->mu);
    }
    return links;
}

dart_chain *dart_chain_create(const dart_chain_def *def) {
    using dart::constraint::ContactConstraint;
    ContactConstraint::setErrorReductionParameter(0.0);
    ContactConstraint::setConstraintForceMixing(1e-9);
    auto chain = std::make_unique<dart_chain>();
    chain->world = dart::simulation::World::create();
    chain->world->setTimeStep(def->dt);
    chain->world->setGravity(Eigen::Map<const Eigen::Vector3d>(def->gravity));
    chain->world->getConstraintSolver()->setCollisionDetector(
        dart::collision::DARTCollisionDetector::create());
    chain->links = make_links(def);
    chain->world->addSkeleton(make_floor(def->mu));
    chain->world->addSkeleton(chain->links);
    return chain.release();
}

void dart_chain_destroy(dart_chain *chain) {
    delete chain;
}

void dart_chain_set(dart_chain *chain, const double *q, const double *v) {
    auto *joint = static_cast<FreeJoint *>(chain->links->getJoint(0));
    Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
    pose.translation() = Eigen::Vector3d(q[0], q[1], q[2]);
    pose.linear() = Eigen::Quaterniond(q[3], q[4], q[5], q[6]).normalized().toRotationMatrix();
    joint->setTransform(pose);
    joint->setLinearVelocity(Eigen::Vector3d(v[0], v[1], v[2]));
    joint->setAngularVelocity(pose.linear() * Eigen::Vector3d(v[3], v[4], v[5]));
    for (size_t i = 1; i < chain->links->getNumJoints(); i++) {
        chain->links->getJoint(i)->setPosition(0, q[6 + i]);
        chain->links->getJoint(i)->setVelocity(0, v[5 + i]);
    }
}

void dart_chain_step(dart_chain *chain) {
    chain->world->step();
}

void dart_chain_get(const dart_chain *chain, double *v) {
    const BodyNode *body = chain->links->getBodyNode(0);
    const Eigen::Matrix3d R = body->getWorldTransform().linear();
    Eigen::Map<Eigen::Vector3d>(v, 3) = body->getLinearVelocity();
    Eigen::Map<Eigen::Vector3d>(v + 3, 3) = R.transpose() * body->getAngularVelocity();
    for (size_t i = 1; i < chain->links->getNumJoints(); i++) {
        v[5 + i] = chain->links->getJoint(i)->getVelocity(0);
    }
}

int dart_chain_force(const dart_chain *chain, double force[3]) {
    const auto &result = chain->world->getLastCollisionResult();
    Eigen::Map<Eigen::Vector3d> sum(force);
    sum.setZero();
    for (const auto &contact : result.getContacts()) {
        // forces act on the first object; the normal points to it
        const double side = contact.normal[2] > 0.0 ? 1.0 : -1.0;
        sum += side * contact.force;
    }
    return static_cast<int>(result.getNumContacts());
}

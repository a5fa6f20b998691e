// SPDX-License-Identifier: MIT
//
// Trees of bodies against MuJoCo, on the same scene files at the same random states.
//
// Compared: masses, centres and inertias; poses of bodies and sites; M(q); the bias c(q, v);
// accelerations without contacts, limits and friction of joints; residuals and rows of equalities;
// one second of that motion without actuators. MuJoCo's RK4 leaves out the commutator of rotations
// and has order 2 where there are quaternions, so its motions over steps of 1/2, 1/4 and 1/8 ms are
// extrapolated (orders 2 and 3). Equalities are soft there and hard here: their accelerations come
// from MuJoCo's parts (mujoco_equality.c), and units with equalities have no motion to compare.
// Masses that MuJoCo rounds (mujoco_mass.c) are compared first and then taken from it.
//
// Scenes: test/oracle/scenes, and those of ../shared (or of the folder CAROM_SHARED), where it is.

#define _POSIX_C_SOURCE 200809L

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/file.h"
#include "model/model.h"
#include "model/scene/mjcf.h"
#include "mujoco_both.h"
#include "sim/sim.h"
#include "support/cr_test.h"

// of the motion: what is left of MuJoCo's error after the extrapolation
#define MOTION_TOLERANCE 1e-8

// steps of the motion are half a millisecond and less
enum { N_STATE = 5, N_STEP = 4000 };

double *numbers(int n) {
    return calloc((size_t)n + 1, sizeof(double));
}

void compare(const char *what, const both *s, int n, const double *carom, const double *mujoco,
             double tolerance, double *most_ever) {
    double scale = 0.0;
    double most = 0.0;
    int at = 0;
    for (int i = 0; i < n; i++) {
        scale = fmax(scale, fmax(fabs(carom[i]), fabs(mujoco[i])));
        double error = fabs(carom[i] - mujoco[i]);
        if (error > most || isnan(error)) {
            most = error;
            at = i;
        }
    }
    double relative = scale > 0.0 ? most / scale : 0.0;
    *most_ever = fmax(*most_ever, relative);
    bool is_judged = cr_test_tolerance_scale() > 0.0;
    if (is_judged && !(relative <= tolerance * cr_test_tolerance_scale())) {
        cr_test_fail("%s: %s %d of %d: carom %.17g, MuJoCo %.17g, relative %.3g", s->path, what, at,
                     n, carom[at], mujoco[at], relative);
    }
}

// ---- opening -----------------------------------------------------------------------------------

// a warning would make MuJoCo write a file into the working folder
static void ignore(const char *text) {
    (void)text;
}

// which masses MuJoCo rounds: those of meshes, and inertias whose axes it looks for
static bool read_kinds(both *s) {
    cr_error err = {0};
    char *text = NULL;
    size_t n_byte = 0;
    cri_scene_def def;
    cr_status status = cri_file_read(s->path, &text, &n_byte, &err);
    if (status == CR_OK) {
        status = cri_mjcf_read(text, n_byte, s->path, &def, &err);
        free(text);
    }
    if (status != CR_OK) {
        cr_test_fail("carom refuses %s: %s", s->path, err.text);
        return false;
    }
    s->is_meshed = calloc((size_t)def.n_body + 1, sizeof(bool));
    s->is_turned = calloc((size_t)def.n_body + 1, sizeof(bool));
    int *n_geom = calloc((size_t)def.n_body + 1, sizeof(int));
    for (int g = 0; g < def.n_geom; g++) {
        int b = def.geom[g].body;
        if (b >= 0 && !def.body[b].has_inertial) {
            s->is_meshed[b] = s->is_meshed[b] || def.geom[g].mesh >= 0;
            s->is_turned[b] = ++n_geom[b] > 1 || s->is_meshed[b];
        }
    }
    free(n_geom);
    for (int b = 0; b < def.n_body; b++) {
        const double *J = def.body[b].inertia;
        bool is_full = J[3] != 0.0 || J[4] != 0.0 || J[5] != 0.0;
        s->is_turned[b] = s->is_turned[b] || (def.body[b].has_inertial && is_full);
    }
    cri_scene_def_clear(&def);
    return true;
}

static bool open_carom(both *s) {
    cr_error err = {0};
    if (!read_kinds(s)) {
        return false;
    }
    if (cr_model_load(s->path, &s->model, &err) != CR_OK) {
        cr_test_fail("carom refuses %s: %s", s->path, err.text);
        return false;
    }
    cr_sim_options options = cr_sim_options_default(s->model);
    if (cr_sim_create(s->model, &options, &s->sim, &err) != CR_OK) {
        cr_test_fail("carom refuses %s: %s", s->path, err.text);
        return false;
    }
    s->mech = &s->model->mech;
    s->derived = &s->sim->d.mech;
    s->memory = cri_arena_create(1 << 16);
    s->scratch = cri_arena_create(1 << 16);
    s->tree = calloc((size_t)s->mech->n_unit + 1, sizeof(cri_tree *));
    for (int i = 0; i < s->mech->n_unit; i++) {
        s->tree[i] = cri_tree_push(s->mech, i, s->derived, s->memory);
    }
    s->q = numbers(s->mech->n_q);
    s->v = numbers(s->mech->n_v);
    s->u = numbers(s->mech->n_u);
    return true;
}

static bool open_both(const char *path, both *s) {
    char error[500] = "";
    *s = (both){.path = path};
    mju_user_warning = ignore;
    s->m = mj_loadXML(path, NULL, error, sizeof error);
    s->d = s->m ? mj_makeData(s->m) : NULL;
    if (!s->d) {
        cr_test_fail("MuJoCo refuses %s: %s", path, error);
        return false;
    }
    s->m->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_LIMIT | mjDSBL_FRICTIONLOSS | mjDSBL_EQUALITY;
    if (!open_carom(s)) {
        return false;
    }
    const cri_mechanism *mech = s->mech;
    const mjModel *m = s->m;
    bool is_same = mech->n_q == m->nq && mech->n_v == m->nv && mech->n_body == m->nbody - 1 &&
                   mech->n_joint == m->njnt && mech->n_u == m->nu + m->nv &&
                   mech->n_site == m->nsite;
    if (!is_same) {
        cr_test_fail(
            "%s: carom has q %d v %d u %d, %d bodies, %d joints, %d sites; MuJoCo q %d v %d "
            "u %d, %d, %d, %d",
            path, mech->n_q, mech->n_v, mech->n_u, mech->n_body, mech->n_joint, mech->n_site,
            (int)m->nq, (int)m->nv, (int)(m->nu + m->nv), (int)(m->nbody - 1), (int)m->njnt,
            (int)m->nsite);
    }
    return is_same;
}

static void close_both(both *s) {
    free(s->q);
    free(s->v);
    free(s->u);
    free(s->tree);
    free(s->is_meshed);
    free(s->is_turned);
    cri_arena_destroy(s->memory);
    cri_arena_destroy(s->scratch);
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
    if (s->d) {
        mj_deleteData(s->d);
    }
    if (s->m) {
        mj_deleteModel(s->m);
    }
}

// ---- states ------------------------------------------------------------------------------------

static void random_state(both *s, cr_test_rng *rng) {
    const mjModel *m = s->m;
    mj_resetData(m, s->d);
    for (int i = 0; i < m->nq; i++) {
        s->q[i] = cr_test_uniform(rng, -1.0, 1.0);
    }
    for (int j = 0; j < m->njnt; j++) {
        if (m->jnt_type[j] == mjJNT_FREE || m->jnt_type[j] == mjJNT_BALL) {
            mju_normalize4(s->q + m->jnt_qposadr[j] + (m->jnt_type[j] == mjJNT_FREE ? 3 : 0));
        }
    }
    for (int i = 0; i < m->nv; i++) {
        s->v[i] = cr_test_uniform(rng, -1.0, 1.0);
    }
    for (int i = 0; i < m->nu; i++) {
        s->u[i] = cr_test_uniform(rng, -0.5, 0.5);
    }
    // forces that accelerate a dof by about 1, however light it is
    for (int i = 0; i < m->nv; i++) {
        s->u[m->nu + i] = m->dof_M0[i] * cr_test_uniform(rng, -1.0, 1.0);
    }
    mju_copy(s->d->qpos, s->q, m->nq);
    mju_copy(s->d->qvel, s->v, m->nv);
    mju_copy(s->d->ctrl, s->u, m->nu);
    mju_copy(s->d->qfrc_applied, s->u + m->nu, m->nv);
    mj_forward(m, s->d);
    for (int i = 0; i < s->mech->n_unit; i++) {
        cri_tree_set(s->tree[i], s->q, s->scratch);
    }
}

// ---- one state ---------------------------------------------------------------------------------

// of a body that moves, or that stands still
static cri_pose body_pose(const both *s, int body) {
    if (body < 0) {
        return (cri_pose){.R = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    }
    const cri_link *link = &s->mech->link[body];
    if (link->unit >= 0) {
        return cri_tree_pose(s->tree[link->unit], body);
    }
    cri_pose parent = body_pose(s, link->parent);
    cri_pose out = {.pos = cri_v3_add(parent.pos, cri_m3_mul(&parent.R, link->pos))};
    const double quat[4] = {link->quat.w, link->quat.x, link->quat.y, link->quat.z};
    double R[9];
    mju_quat2Mat(R, quat);
    mju_mulMatMat(out.R.m, parent.R.m, R, 3, 3, 3);
    return out;
}

static void compare_poses(const both *s, worst *w) {
    double *carom = numbers(12 * s->mech->n_body);
    double *mujoco = numbers(12 * s->mech->n_body);
    for (int b = 0; b < s->mech->n_body; b++) {
        cri_pose pose = body_pose(s, b);
        cri_v3_store(pose.pos, carom + 12 * b);
        memcpy(carom + 12 * b + 3, pose.R.m, sizeof pose.R.m);
        mju_copy3(mujoco + 12 * b, s->d->xpos + 3 * (b + 1));
        mju_copy(mujoco + 12 * b + 3, s->d->xmat + 9 * (b + 1), 9);
    }
    compare("pose", s, 12 * s->mech->n_body, carom, mujoco, TOLERANCE, &w->pose);
    free(carom);
    free(mujoco);

    carom = numbers(3 * s->mech->n_site);
    for (int i = 0; i < s->mech->n_site; i++) {
        const cri_site *site = &s->mech->site[i];
        cri_pose pose = body_pose(s, site->body);
        cri_v3_store(cri_v3_add(pose.pos, cri_m3_mul(&pose.R, site->pos)), carom + 3 * i);
    }
    compare("site", s, 3 * s->mech->n_site, carom, s->d->site_xpos, TOLERANCE, &w->site);
    free(carom);
}

// so that a light dof counts as much as a heavy one: n numbers times sqrt(M_ii)^power
static void weigh(const both *s, const double *M, double power, double *a) {
    for (int i = 0; i < s->m->nv; i++) {
        a[i] *= pow(M[(size_t)i * (size_t)(s->m->nv + 1)], 0.5 * power);
    }
}

// fills M (n_v, n_v) of MuJoCo
static void compare_mass_matrix(const both *s, double *M, worst *w) {
    int n = s->m->nv;
    double *carom = numbers(n * n);
    double *mujoco = numbers(n * n);
    double *unit_vector = numbers(n);
    mj_fullM(s->m, M, s->d->qM);
    mju_copy(mujoco, M, n * n);
    for (int i = 0; i < s->mech->n_unit; i++) {
        const cri_unit *unit = &s->mech->unit[i];
        for (int k = unit->first_v; k < unit->first_v + unit->n_v; k++) {
            // rows are columns
            unit_vector[k] = 1.0;
            cri_tree_multiply(s->tree[i], unit_vector, carom + (size_t)k * (size_t)n);
            unit_vector[k] = 0.0;
        }
    }
    for (int i = 0; i < n; i++) {
        double scale = 1.0 / sqrt(M[(size_t)i * (size_t)(n + 1)]);
        double *row[2] = {carom + (size_t)i * (size_t)n, mujoco + (size_t)i * (size_t)n};
        for (int k = 0; k < 2; k++) {
            weigh(s, M, -1.0, row[k]);
            mju_scl(row[k], row[k], scale, n);
        }
    }
    compare("entry of M", s, n * n, carom, mujoco, TOLERANCE, &w->M);
    free(carom);
    free(mujoco);
    free(unit_vector);
}

static void compare_forces(const both *s, const double *M, worst *w) {
    int n = s->m->nv;
    double *carom = numbers(n);
    double *mujoco = numbers(n);
    for (int i = 0; i < s->mech->n_unit; i++) {
        cri_tree_bias(s->tree[i], s->v, carom, s->scratch);
    }
    mju_copy(mujoco, s->d->qfrc_bias, n);
    weigh(s, M, -1.0, carom);
    weigh(s, M, -1.0, mujoco);
    // and a force that accelerates by 1, for the scale of balls without gravity
    for (int i = 0; i < n; i++) {
        mujoco[n] = fmax(mujoco[n], sqrt(M[(size_t)i * (size_t)(n + 1)]));
    }
    carom[n] = mujoco[n];
    compare("bias", s, n + 1, carom, mujoco, TOLERANCE, &w->bias);

    // qacc_smooth: all forces but those of constraints
    mju_copy(mujoco, s->d->qacc_smooth, n);
    for (int i = 0; i < s->mech->n_unit; i++) {
        cri_tree_accel(s->tree[i], s->v, s->u, 0.0, carom, s->scratch);
    }
    if (s->mech->n_equality > 0) {
        tie_accel(s, mujoco);
    }
    weigh(s, M, 1.0, carom);
    weigh(s, M, 1.0, mujoco);
    compare("acceleration", s, n, carom, mujoco, TOLERANCE, &w->accel);
    free(carom);
    free(mujoco);
}

// ---- motion ------------------------------------------------------------------------------------

// one second in MuJoCo with n steps
static void run_mujoco(const both *s, int n, double *qpos) {
    mjModel *m = s->m;
    mjData *d = s->d;
    int flags = m->opt.disableflags;
    int integrator = m->opt.integrator;
    m->opt.disableflags |= mjDSBL_ACTUATION | mjDSBL_CLAMPCTRL;
    m->opt.integrator = mjINT_RK4;
    m->opt.timestep = 1.0 / n;
    mj_resetData(m, d);
    mju_copy(d->qpos, s->q, m->nq);
    mju_copy(d->qvel, s->v, m->nv);
    mju_copy(d->qfrc_applied, s->u + m->nu, m->nv);
    for (int i = 0; i < n; i++) {
        mj_step(m, d);
    }
    mju_copy(qpos, d->qpos, m->nq);
    m->opt.disableflags = flags;
    m->opt.integrator = integrator;
}

static void extrapolate(const both *s, double *out) {
    int n = s->m->nq;
    double *path[3];
    for (int k = 0; k < 3; k++) {
        path[k] = numbers(n);
        run_mujoco(s, N_STEP << k, path[k]);
    }
    for (int i = 0; i < n; i++) {
        double coarse = (4.0 * path[1][i] - path[0][i]) / 3.0;
        double fine = (4.0 * path[2][i] - path[1][i]) / 3.0;
        out[i] = (8.0 * fine - coarse) / 7.0;
    }
    for (int k = 0; k < 3; k++) {
        free(path[k]);
    }
}

// one second of a unit here, actuators off; moves its entries of q and v
static void run_carom(const both *s, int unit, double *q, double *v) {
    const cri_unit *range = &s->mech->unit[unit];
    cri_mechanism mech = *s->mech;
    cri_mech_derived d = *s->derived;
    mech.is_euler = false;
    d.actuator = calloc((size_t)mech.n_actuator + 1, sizeof *d.actuator);
    double *q_next = numbers(mech.n_q);
    double *v_next = numbers(mech.n_v);
    cr_arena *keep = cri_arena_create(1 << 16);
    for (int i = 0; i < N_STEP; i++) {
        cri_arena_reset(keep);
        CHECK(cri_tree_flow(&mech, unit, &d, &(cri_tree_start){q, v, s->u, 1.0 / N_STEP}, q_next,
                            v_next, keep, s->scratch) != NULL);
        mju_copy(q + range->first_q, q_next + range->first_q, range->n_q);
        mju_copy(v + range->first_v, v_next + range->first_v, range->n_v);
    }
    cri_arena_destroy(keep);
    free(q_next);
    free(v_next);
    free(d.actuator);
}

static void compare_motion(const both *s, worst *w) {
    int n = s->m->nq;
    double *carom = numbers(n);
    double *mujoco = numbers(n);
    double *v = numbers(s->m->nv);
    mju_copy(carom, s->q, n);
    mju_copy(v, s->v, s->m->nv);
    extrapolate(s, mujoco);
    for (int i = 0; i < s->mech->n_unit; i++) {
        const cri_unit *unit = &s->mech->unit[i];
        if (unit->n_equality == 0) {
            run_carom(s, i, carom, v);
        } else {
            mju_copy(carom + unit->first_q, mujoco + unit->first_q, unit->n_q);
        }
    }
    // a quaternion and its negative are one rotation
    for (int j = 0; j < s->m->njnt; j++) {
        int type = s->m->jnt_type[j];
        if (type == mjJNT_FREE || type == mjJNT_BALL) {
            double *a = carom + s->m->jnt_qposadr[j] + (type == mjJNT_FREE ? 3 : 0);
            double *b = mujoco + (a - carom);
            mju_scl(b, b, mju_dot(a, b, 4) < 0.0 ? -1.0 : 1.0, 4);
        }
    }
    compare("qpos after 1 s", s, n, carom, mujoco, MOTION_TOLERANCE, &w->motion);
    free(carom);
    free(mujoco);
    free(v);
}

// ---- scenes ------------------------------------------------------------------------------------

static void check_scene(const char *path) {
    both s;
    worst w = {0};
    if (open_both(path, &s)) {
        cr_test_rng rng = cr_test_rng_of(1);
        double *M = numbers(s.m->nv * s.m->nv);
        compare_masses(&s, &w);
        adopt_masses(&s);
        for (int k = 0; k < N_STATE; k++) {
            random_state(&s, &rng);
            compare_poses(&s, &w);
            compare_mass_matrix(&s, M, &w);
            compare_forces(&s, M, &w);
            compare_equalities(&s, &w);
        }
        free(M);
        compare_motion(&s, &w);
        const char *name = strrchr(path, '/');
        print_message("%-18s mass %.0e moments %.0e axes %.0e pose %.0e site %.0e M %.0e bias %.0e "
                      "acceleration %.0e motion %.0e equalities %.0e\n",
                      name ? name + 1 : path, w.mass, w.inertia, w.axes, w.pose, w.site, w.M,
                      w.bias, w.accel, w.motion, w.rows);
    }
    close_both(&s);
}

// all scenes that a pattern finds, at least so many
static void check_scenes(const char *folder, const char *pattern, int least) {
    char path[1000];
    glob_t found = {0};
    snprintf(path, sizeof path, "%s/%s", folder, pattern);
    if (access(folder, R_OK) != 0) {
        print_message("%s is missing\n", folder);
        SKIP("the scenes are missing");
    }
    CHECK(glob(path, 0, NULL, &found) == 0);
    CHECK((int)found.gl_pathc >= least);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_scene(found.gl_pathv[i]);
    }
    globfree(&found);
}

static const char *shared(const char *folder) {
    static char path[1000];
    const char *root = getenv("CAROM_SHARED");
    snprintf(path, sizeof path, "%s/%s", root ? root : CAROM_SOURCE_DIR "/../shared", folder);
    return path;
}

TEST(own_scenes) {
    check_scenes(CAROM_SOURCE_DIR "/test/oracle/scenes", "*.xml", 5);
}

// what is shipped loads in MuJoCo as it is
TEST(examples) {
    check_scenes(CAROM_SOURCE_DIR "/examples", "*.xml", 4);
}

TEST(ants) {
    check_scenes(shared("data/robots/ant"), "*.xml", 2);
}

TEST(bench_scenes) {
    check_scenes(shared("bench-scenes"), "*.xml", 9);
}

TEST(panda) {
    const char *folder = shared("data/robots/franka_panda");
    if (access(folder, R_OK) != 0) {
        print_message("%s is missing\n", folder);
        SKIP("the Panda is missing");
    }
    // without the visual meshes, which are not there; then without equalities, for the motion
    static const char *const copy[] = {CAROM_BINARY_DIR "/oracle_panda.xml",
                                       CAROM_BINARY_DIR "/oracle_panda_free.xml"};
    for (int k = 0; k < 2; k++) {
        char command[3000];
        snprintf(command, sizeof command, "python3 '%s/tools/oracle_panda' '%s/panda.xml' '%s' %s",
                 CAROM_SOURCE_DIR, folder, copy[k], k == 1 ? "free" : "");
        if (CHECK(system(command) == 0)) {
            check_scene(copy[k]);
        }
    }
}

CR_TEST_MAIN(own_scenes, examples, ants, bench_scenes, panda)

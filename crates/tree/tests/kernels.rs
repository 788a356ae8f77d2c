//! What kernels say of themselves, as folders that look like a running system.

use std::fs;

use sealstone_tree::Kernel;

/// A system with these files.
fn system(files: &[(&str, &str)]) -> (tempfile::TempDir, Kernel) {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let kernel = Kernel::read(folder.path());
    (folder, kernel)
}

const POLICY: (&str, &str) = (
    "sys/kernel/security/ima/policy",
    "dont_measure fsmagic=0x9fa0\nappraise func=BPRM_CHECK appraise_type=imasig\n",
);

#[test]
fn a_policy_on_a_kernel_without_ml_dsa_is_noticed() {
    for (release, config, checks) in [
        ("7.2.12+deb13-amd64", "# CONFIG_CRYPTO_MLDSA is not set\nCONFIG_IMA_APPRAISE=y\n", false),
        ("7.2.0", "CONFIG_CRYPTO_MLDSA=y\n", true),
        ("7.10.3", "CONFIG_CRYPTO_MLDSA=m\n", true),
        ("8.0.0-rc1", "CONFIG_CRYPTO_MLDSA=y\n", true),
        ("7.1.9", "CONFIG_CRYPTO_MLDSA=y\n", false),
        ("6.18.44", "", false),
        ("seven", "CONFIG_CRYPTO_MLDSA=y\n", false),
    ] {
        let config_path = format!("boot/config-{release}");
        let release_line = format!("{release}\n");
        let files = [("proc/sys/kernel/osrelease", release_line.as_str()), (&config_path, config), POLICY];
        let (_folder, kernel) = system(&files);
        assert_eq!(kernel.checks_ml_dsa(), checks, "{release}");
        assert_eq!(kernel.would_refuse_ml_dsa(), !checks, "{release}");
        assert_eq!(kernel.active, ["policy: appraise func=BPRM_CHECK appraise_type=imasig"]);
        let (_folder, kernel) = system(&files[..2]);
        assert!(!kernel.would_refuse_ml_dsa(), "{release} without a policy");
    }
}

/// What is not known is not there: a kernel that hides its configuration is not trusted to check.
#[test]
fn a_kernel_that_says_nothing_checks_nothing() {
    let (_folder, kernel) = system(&[("proc/sys/kernel/osrelease", "7.2.0\n"), POLICY]);
    assert_eq!((kernel.ml_dsa, kernel.would_refuse_ml_dsa()), (None, true));
    let listed = [("proc/sys/kernel/osrelease", "7.2.0\n"), ("proc/crypto", "name : mldsa65\n"), POLICY];
    assert!(system(&listed).1.checks_ml_dsa());
}

#[test]
fn words_of_the_command_line_count_where_there_is_ima() {
    let release = ("proc/sys/kernel/osrelease", "6.1.0\n");
    for (words, active) in [
        ("quiet ima_appraise=enforce", true),
        ("ima_policy=tcb|appraise_tcb", true),
        ("ima_policy=secure_boot", true),
        ("ima_policy=tcb quiet", false),
        ("ima_appraise=off", false),
    ] {
        let files = [release, ("proc/cmdline", words), ("sys/kernel/security/ima/count", "0")];
        assert_eq!(system(&files).1.would_refuse_ml_dsa(), active, "{words}");
        assert!(!system(&files[..2]).1.would_refuse_ml_dsa(), "{words} without IMA");
    }
}

# What this machine has, and what is installed on it for the tests. Read by ./dev, whose `root` and `fail` it uses.

# The rooms that not every machine has, each with the CPU features that it needs, as /proc/cpuinfo names them.
vector_rooms="avx2:avx2,bmi1,bmi2 avx512:avx512f,avx512bw,avx512dq,avx512vl,avx2"

# What disks in files are made with, and a second hand that reads signatures. What is missing the tests leave out, and say so.
have_file_systems() {
    packages="attr btrfs-progs e2fsprogs fsverity ima-evm-utils openssl squashfs-tools xfsprogs"
    # As root in a container they are installed; nobody else is asked for them.
    for tool in mkfs.btrfs mkfs.ext4 mkfs.xfs mksquashfs evmctl fsverity openssl; do
        command -v "$tool" >/dev/null || [ -x "/usr/sbin/$tool" ] && continue
        if nobody_to_ask && install_quietly $packages; then return; fi
        echo "tree: left out what needs $tool: the packages $packages have it"
        return
    done
}

# The languages of the partners, in one of which the pages are driven too. What is missing the tests leave out, and say so.
have_partners() {
    missing=
    for entry in node:nodejs npm:npm go:golang-go javac:default-jdk-headless mvn:maven; do
        command -v "${entry%%:*}" >/dev/null || missing="$missing ${entry#*:}"
    done
    [ -n "$missing" ] || return 0
    # As root in a container they are installed; nobody else is asked for them.
    if nobody_to_ask && install_quietly --no-install-recommends $missing; then return; fi
    echo "interop: left out what needs one of the packages$missing"
}

# The rooms with vector instructions that this CPU can run; says which ones it leaves out.
vector_rooms_here() {
    flags=" $(sed -n '/^flags/{s/.*: //p;q;}' /proc/cpuinfo 2>/dev/null) "
    for entry in $vector_rooms; do
        missing=
        for feature in $(echo "${entry#*:}" | tr , ' '); do
            case $flags in *" $feature "*) ;; *) missing=$feature ;; esac
        done
        if [ -z "$missing" ]; then
            echo "${entry%%:*}"
        else
            echo "--- test mldsa, room ${entry%%:*}: skipped: this CPU has no $missing" >&2
        fi
    done
}

# Whether the emulator and the boards' target are here; says what is skipped if they are not: NAME.
have_emulator() {
    PATH=$PATH:/usr/sbin:/sbin
    # As root in a container the emulator is installed; nobody else is asked for it.
    if ! command -v qemu-system-arm >/dev/null && nobody_to_ask; then
        (need qemu-system-arm) || : # said below
    fi
    command -v qemu-system-arm >/dev/null || { echo "$1: skipped: qemu-system-arm is not installed"; return 1; }
    need_target thumbv7em-none-eabihf || { echo "$1: skipped: there is no target thumbv7em-none-eabihf"; return 1; }
}

has_kerberos() {
    for tool in krb5kdc kdb5_util kadmin.local kinit curl; do
        command -v "$tool" >/dev/null || return 1
    done
    /usr/bin/python3 -c "import gssapi" 2>/dev/null
}

# Finds the tools, or offers to install them: with a person there it asks, as root in a container it does not.
need() {
    for tool in "$@"; do
        if command -v "$tool" >/dev/null || [ -x "/usr/sbin/$tool" ] || [ -f "/usr/include/$tool" ]; then continue; fi
        if [ "$tool" = python3-venv ] && python3 -c "import ensurepip" 2>/dev/null; then continue; fi
        case $tool in
            cargo) fail "cargo is missing" "install Rust: https://rustup.rs" ;;
            cc | c++) package=build-essential ;;
            libelf.h) package=libelf-dev ;;
            mkfs.btrfs) package=btrfs-progs ;;
            evmctl) package=ima-evm-utils ;;
            mkfs.ext4) package=e2fsprogs ;;
            mkfs.f2fs) package=f2fs-tools ;;
            mkfs.xfs) package=xfsprogs ;;
            mosquitto_pub) package=mosquitto-clients ;;
            nm | objdump | readelf) package=binutils ;;
            perf) package=linux-perf ;;
            qemu-system-arm) package="--no-install-recommends $tool" ;; # they are a desktop
            qemu-system-x86_64) package=qemu-system-x86 ;;
            testssl) package=testssl.sh ;;
            xz) package=xz-utils ;;
            *) package=$tool ;;
        esac
        command -v apt-get >/dev/null || fail "$tool is missing" "install it with your system's packages"
        sudo=
        if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
        if [ -t 0 ]; then
            printf '%s is missing. Run "%sapt-get update" and "%sapt-get install %s"? [y/N] ' "$tool" "${sudo:+sudo }" "${sudo:+sudo }" "$package"
            read -r answer
            [ "$answer" = y ] || fail "$tool is missing" "apt-get install $package"
        elif [ -n "$sudo" ]; then
            fail "$tool is missing" "apt-get install $package"
        fi
        # A fresh container has no lists of packages; elsewhere old ones do if new ones cannot be had.
        $sudo apt-get update -qq || :
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y $package ||
            fail "$tool could not be installed" "apt-get install $package"
    done
}

# Whether this is root in a container, say, where what is missing is installed without a question.
nobody_to_ask() {
    [ "$(id -u)" -eq 0 ] && [ ! -t 0 ] && command -v apt-get >/dev/null
}

install_quietly() {
    apt-get update -qq || :
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "$@" >/dev/null
}

need_target() {
    [ -d "$(cd "$root" && rustc --print sysroot)/lib/rustlib/$1" ] ||
        { command -v rustup >/dev/null && (cd "$root" && rustup target add "$1" 2>/dev/null); }
}

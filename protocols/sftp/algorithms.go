package sftp

import (
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/protocols/sftp/internal/sshconfig"
)

// transport returns the settings of the configuration file for the encryption of a connection. The
// default key exchange methods of package ssh lack diffie-hellman-group-exchange-sha256, the only
// secure method of some servers.
func transport(settings sshconfig.Host) (cfg ssh.Config, err error) {
	secure, insecure := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	cfg.KeyExchanges, err = selected("KexAlgorithms", settings.KexAlgorithms, secure.KeyExchanges,
		slices.Concat(secure.KeyExchanges, []string{curve25519LibSSH}, insecure.KeyExchanges))
	if err != nil {
		return cfg, err
	}
	cfg.Ciphers, err = selected("Ciphers", settings.Ciphers, secure.Ciphers,
		slices.Concat(secure.Ciphers, insecure.Ciphers))
	if err != nil {
		return cfg, err
	}
	macs := slices.Concat(secure.MACs, insecure.MACs)
	cfg.MACs = settings.MACs.Apply(macs, macs)
	if len(cfg.MACs) == 0 { // without a name, package ssh would use its defaults; most ciphers need none
		cfg.MACs = []string{string(settings.MACs)}
	}
	return cfg, nil
}

// curve25519LibSSH is the older name of curve25519-sha256, which package ssh also offers.
const curve25519LibSSH = "curve25519-sha256@libssh.org"

// selected returns the algorithms that a setting selects, which are at least one.
func selected(keyword string, list sshconfig.Algorithms, defaults, implemented []string) ([]string, error) {
	names := list.Apply(defaults, implemented)
	if len(names) == 0 {
		return nil, settingsError("%s: no algorithm of %q is supported", keyword, string(list))
	}
	return names, nil
}

// hostKeyAlgorithms returns the algorithms that the configuration file selects. Known has those of
// known keys first, and those of certificates only if their authority is known: other certificates
// prove nothing.
func hostKeyAlgorithms(list sshconfig.Algorithms, known []string) ([]string, error) {
	names, err := selected("HostKeyAlgorithms", list, known,
		slices.Concat(ssh.SupportedAlgorithms().HostKeys, ssh.InsecureAlgorithms().HostKeys))
	if err != nil {
		return nil, err
	}
	useful := slices.DeleteFunc(slices.Clone(names),
		func(name string) bool { return isCertificate(name) && !slices.Contains(known, name) })
	if len(useful) == 0 {
		return names, nil
	}
	return useful, nil
}

const certificateSuffix = "-cert-v01@openssh.com"

func isCertificate(algorithm string) bool { return strings.HasSuffix(algorithm, certificateSuffix) }

// certificateOf returns the name of an algorithm for keys with a certificate.
func certificateOf(algorithm string) string {
	return strings.TrimSuffix(algorithm, "@openssh.com") + certificateSuffix
}

// signatureAlgorithms returns the algorithms that a key of the user may sign with, in order of
// preference. It returns none if the configuration file excludes the key.
func signatureAlgorithms(list sshconfig.Algorithms, key ssh.PublicKey) (names []string) {
	cert, certified := key.(*ssh.Certificate)
	if certified {
		key = cert.Key
	}
	all := []string{key.Type()}
	if key.Type() == ssh.KeyAlgoRSA {
		all = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
	}
	for _, name := range all {
		listed := name
		if certified {
			listed = certificateOf(name)
		}
		if accepted := []string{listed}; len(list.Apply(accepted, accepted)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

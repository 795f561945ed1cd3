package sftp

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch"
)

// maxListed limits the number of algorithms of a server in an error. Servers have about ten of a kind.
const maxListed = 20

// negotiationError returns the error for a server that has no algorithm in common with this client.
func (l *login) negotiationError(n *ssh.AlgorithmNegotiationError) error {
	theirs := slices.DeleteFunc(slices.Clone(n.RequestedAlgorithms), isExtension)
	listed := theirs
	if len(theirs) > maxListed {
		listed = append(slices.Clone(theirs[:maxListed]), "…")
	}
	return &fetch.Error{Code: fetch.ErrTLS, Hint: hintOfAlgorithms(n.What, theirs),
		Reason: fetch.Reason{Kind: fetch.ReasonKeyExchange, Host: l.hop.addr()},
		Err: fmt.Errorf("no algorithm for the %s in common: the server has %s", n.What,
			strings.Join(listed, ", "))}
}

// isExtension reports whether a name in a list of key exchange methods announces an extension instead
// (RFC 8308, section 2.1).
func isExtension(name string) bool {
	return strings.HasPrefix(name, "ext-info-") || strings.HasPrefix(name, "kex-strict-")
}

// hintOfAlgorithms names the setting by which an algorithm of the server is accepted, secure ones first.
func hintOfAlgorithms(what string, theirs []string) string {
	for i, ours := range []ssh.Algorithms{ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()} {
		keyword, names := "", []string(nil)
		switch {
		case what == "key exchange":
			keyword, names = "KexAlgorithms", ours.KeyExchanges
		case what == "host key":
			keyword, names = "HostKeyAlgorithms", ours.HostKeys
		case strings.HasSuffix(what, "cipher"):
			keyword, names = "Ciphers", ours.Ciphers
		case strings.HasSuffix(what, "MAC"):
			keyword, names = "MACs", ours.MACs
		}
		for _, name := range theirs {
			if slices.Contains(names, name) {
				return fmt.Sprintf("%s +%s in ~/.ssh/config accepts %s", keyword, name,
					[]string{"it", "an algorithm that is not secure"}[i])
			}
		}
	}
	return ""
}

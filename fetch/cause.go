package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// causeText returns the text of the cause of an Error: the words of the system and of the standard
// library, without operations such as "openat" and prefixes such as "x509: ". It omits the operation
// and the URL of a nested *Error.
func causeText(err error) string {
	switch inner := err.(type) {
	case *Error:
		return inner.Message()
	case *uri.Error:
		return inner.Reason
	}
	return plainText(err)
}

func plainText(err error) string {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Path + ": " + plainText(e.Err)
	case *os.LinkError:
		return e.New + ": " + plainText(e.Err)
	case *os.SyscallError:
		return plainText(e.Err)
	case *net.OpError:
		return connectionText(e)
	case *net.DNSError:
		return "lookup " + e.Name + ": " + e.Err
	case *tls.CertificateVerificationError:
		return plainText(e.Err)
	case tls.RecordHeaderError:
		return "the server does not speak TLS on this port"
	case tls.AlertError:
		return "the server refused the TLS handshake: " + strings.TrimPrefix(e.Error(), "tls: ")
	case x509.HostnameError, x509.UnknownAuthorityError, x509.CertificateInvalidError:
		return certificateText(err)
	case interface{ Unwrap() error }:
		return replaceText(err.Error(), e.Unwrap())
	case interface{ Unwrap() []error }:
		return replaceText(err.Error(), e.Unwrap()...)
	}
	return err.Error()
}

// connectionText names only the address of a dial: other operations follow one that succeeded.
func connectionText(e *net.OpError) string {
	text := plainText(e.Err)
	_, nested := e.Err.(*net.OpError) // such as the dial of a SOCKS proxy
	_, alert := e.Err.(tls.AlertError)
	switch {
	case nested, alert, e.Op == "read", e.Op == "write", e.Op == "dial" && e.Addr == nil:
		return text
	case e.Op == "dial":
		return fmt.Sprintf("connect to %s: %s", e.Addr, text)
	}
	return replaceText(e.Error(), e.Err)
}

// maxNames limits the names of a certificate in a text. Some certificates have a hundred.
const maxNames = 3

func certificateText(err error) string {
	switch e := err.(type) {
	case x509.HostnameError:
		if more := len(e.Certificate.DNSNames) - maxNames; more > 0 {
			names := strings.Join(e.Certificate.DNSNames[:maxNames], ", ")
			return fmt.Sprintf("certificate is valid for %s and %d others, not %s", names, more, e.Host)
		}
	case x509.UnknownAuthorityError:
		if e.Cert != nil && e.Cert.Issuer.String() == e.Cert.Subject.String() {
			return "self-signed certificate"
		}
		return "certificate signed by unknown authority"
	case x509.CertificateInvalidError:
		switch {
		case e.Reason != x509.Expired || e.Cert == nil:
		case time.Now().Before(e.Cert.NotBefore):
			return "certificate is not valid before " + e.Cert.NotBefore.Format(time.DateOnly)
		default:
			return "certificate has expired on " + e.Cert.NotAfter.Format(time.DateOnly)
		}
	}
	return strings.TrimPrefix(err.Error(), "x509: ")
}

// replaceText returns the text of an error that wraps others, with their plain texts.
func replaceText(text string, wrapped ...error) string {
	for _, err := range wrapped {
		if err == nil || err.Error() == "" {
			continue
		}
		if i := strings.LastIndex(text, err.Error()); i >= 0 {
			text = text[:i] + plainText(err) + text[i+len(err.Error()):]
		}
	}
	for _, eof := range []error{io.EOF, io.ErrUnexpectedEOF} {
		said, found := strings.CutSuffix(text, ": "+eof.Error())
		if found && (strings.Contains(said, "ended") || strings.Contains(said, "closed")) {
			return said // it says already that the data ended
		}
	}
	return text
}

package http_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestClientCertificateByRenegotiation checks a server of TLS 1.2 that requests a certificate after the
// request, as IIS and Apache do for single paths. Servers of crypto/tls cannot, so the
// server is that of openssl.
func TestClientCertificateByRenegotiation(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("requires openssl, because servers of crypto/tls cannot renegotiate")
	}
	serverTLS, clientTLS := servers.Certificate()
	file := t.TempDir() + "/server.pem"
	writePEM(t, file, serverTLS.Certificates[0])
	addr := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), openssl, "s_server", "-tls1_2", "-accept", addr, "-cert", file, "-key", file)
	input, _ := cmd.StdinPipe()
	output, _ := cmd.StdoutPipe()
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	lines := bufio.NewScanner(output)
	until := func(text string) bool {
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return true
			}
		}
		return false
	}
	if !until("ACCEPT") {
		t.Fatal("openssl s_server does not start")
	}
	clientTLS.Certificates = serverTLS.Certificates
	done := make(chan bool, 1)
	go func() {
		ok := until("GET /")
		io.WriteString(input, "R\n")
		ok = ok && until("SSL_do_handshake -> 1")
		io.WriteString(input, "HTTP/1.1 200 OK\nContent-Length: 6\nConnection: close\n\nhello\n")
		done <- ok
		io.Copy(io.Discard, output)
	}()
	drive.Gets(t, newClient(t, &fetch.Options{TLS: clientTLS}, urlhttp.Options{}), "https://"+addr+"/", "hello\n")
	if !<-done {
		t.Error("no second handshake")
	}
}

func writePEM(t *testing.T, file string, cert tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/internal/codec/apdu"
	"github.com/urlget/urlget/internal/codec/ber"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/wais"
)

// replier returns the address of a server that responds to lines from memory. If once is set, it
// closes the connection after the first response.
func replier(b *testing.B, greeting string, answer func(line string) []byte, once bool) string {
	return listen(b, func(conn net.Conn) {
		io.WriteString(conn, greeting)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			if _, err := conn.Write(answer(lines.Text())); err != nil || once {
				return
			}
		}
	})
}

func gopherBody(b *testing.B, content []byte) body {
	addr := replier(b, "", func(string) []byte { return content }, true)
	return body{gopher.Load, "gopher://" + addr + "/9/doc.bin", len(content), requestBytes(addr, "/doc.bin\r\n", len(content))}
}

func newsBody(b *testing.B, content []byte) body {
	const greeting, reply, head = "200 hi\r\n", "220 0 <1@bench.invalid>\r\n", "Message-ID: <1@bench.invalid>\r\n\r\n"
	article := slices.Concat([]byte(reply+head), content, []byte(".\r\n"))
	addr := replier(b, greeting, func(line string) []byte {
		if strings.HasPrefix(line, "ARTICLE") {
			return article
		}
		return []byte("101 can\r\nVERSION 2\r\nREADER\r\n.\r\n")
	}, false)
	return body{nntp.Load, "news://" + addr + "/1@bench.invalid", len(head) + len(content),
		requestBytes(addr, "ARTICLE <1@bench.invalid>\r\n", len(greeting)+len(article))}
}

// waisPart is the size of the parts that a client requests: the capacity of freeWAIS.
const waisPart = waisd.Buffer - 2048

// waisBody is a document that is requested in parts.
func waisBody(b *testing.B, content []byte) body {
	packet := func(payload []byte) []byte {
		var buf bytes.Buffer
		apdu.WritePacket(&buf, payload)
		return buf.Bytes()
	}
	parts := [][]byte{packet(apdu.Init{Size: waisd.Buffer, Accepted: true}.EncodeResponse())}
	for part := range slices.Chunk(content, waisPart) {
		parts = append(parts, packet(apdu.Response{HasText: true, Text: part}.Encode()))
	}
	beyond := apdu.Diagnostic{Code: apdu.OutOfRange, Text: "Request out of range"}
	parts = append(parts, packet(apdu.Response{Diagnostics: []apdu.Diagnostic{beyond}}.Encode()))
	addr := listen(b, func(conn net.Conn) {
		for _, part := range parts {
			if _, err := apdu.ReadPacket(conn); err != nil {
				return
			}
			conn.Write(part)
		}
	})
	request := packet(apdu.Search{Database: "db", Document: make([]byte, 64), Type: "TEXT", To: waisPart}.Encode())
	bare := func() error {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		for _, part := range parts {
			if _, err := conn.Write(request); err != nil {
				return err
			}
			if err := discardSome(conn, len(part)); err != nil {
				return err
			}
		}
		return nil
	}
	return body{wais.Load, waisd.DocumentURL(addr, "db", "doc.txt"), len(content), bare}
}

// ldapBody is a search result with one attribute per entry. As LDIF it has size bytes.
func ldapBody(b *testing.B, attribute string, values [][]byte, size int) body {
	const universal, application, octets = ber.Universal, ber.Application, 4
	str := func(s string) []byte { return ber.Bytes(universal, octets, s) }
	message := func(op []byte) []byte {
		return ber.Sequence(ber.Bytes(universal, ber.TagInteger, []byte{1}), op)
	}
	var found bytes.Buffer
	for i, v := range values {
		pair := ber.Sequence(str(attribute), ber.Group(universal, 0x11, ber.Bytes(universal, octets, v)))
		found.Write(message(ber.Group(application, 4, str(entryName(i)), ber.Sequence(pair))))
	}
	found.Write(message(ber.Group(application, 5, ber.Bytes(universal, 0x0a, []byte{0}), str(""), str(""))))
	addr := listen(b, func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4<<10)); err == nil { // a request arrives in one piece
			conn.Write(found.Bytes())
			conn.Read(make([]byte, 1))
		}
	})
	return body{ldap.Load, "ldap://" + addr + "/dc=bench??sub", size, requestBytes(addr, "search", found.Len())}
}

// entryName returns the name of entry i. All names have the same length.
func entryName(i int) string { return fmt.Sprintf("uid=%06d,dc=bench", i) }

// entriesBody is a search result with entries of a few hundred bytes of text, which LDIF folds.
func entriesBody(b *testing.B, content []byte) body {
	const length = 500
	value := []byte(strings.Repeat("x", length))
	values := slices.Repeat([][]byte{value}, len(content)/length)
	size := len("version: 1\n")
	for i := range values {
		size += len("\ndn: \n") + len(entryName(i)) + folded(len("description: ")+length)
	}
	return ldapBody(b, "description", values, size)
}

// photographsBody is a search result with a photograph of 512 KiB per entry, which LDIF encodes as
// base64.
func photographsBody(b *testing.B, content []byte) body {
	const length = 512 << 10
	value := bytes.Repeat([]byte{0xff, 0xd8, 0, 1}, length/4)
	values := slices.Repeat([][]byte{value}, len(content)/length)
	size := len("version: 1\n")
	for i := range values {
		size += len("\ndn: \n") + len(entryName(i)) + folded(len("jpegPhoto:: ")+(length+2)/3*4)
	}
	return ldapBody(b, "jpegPhoto", values, size)
}

// folded returns the length of an LDIF line of n characters after folding. Each line but the first
// starts with a space and holds 75 characters.
func folded(n int) int { return n + 1 + max(0, n-76+74)/75*2 }

package message

import (
	"bytes"
	"fmt"
	"strings"
)

// A wild message violates the specification in one way.
type wild struct {
	name    string
	message string
	parts   []string // the decoded parts; nil means any
	text    string   // the result of Text
}

const (
	mixedHead = "From: a@b\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=XX\n\n"
	pngPart   = "--XX\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n"
)

// nested returns a message of nested multiparts.
func nested(levels int) string {
	var b strings.Builder
	b.WriteString("From: a@b\n")
	for i := range levels {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	b.WriteString("Content-Type: text/plain\n\ndeep\n")
	for i := levels - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "--b%d--\n", i)
	}
	return b.String()
}

// yEncoded returns s in yEnc.
func yEncoded(s string) string {
	out := make([]byte, len(s))
	for i := range len(s) {
		out[i] = s[i] + 42
	}
	return fmt.Sprintf("=ybegin line=128 size=%d name=h.txt\n%s\n=yend size=%d\n", len(s), out, len(s))
}

var wildMessages = []wild{
	{"part without a blank line", mixedHead + "--XX\nContent-Type: image/png\nContent-Transfer-Encoding: base64\naGVs\nbG8=\n--XX--\n", []string{"hello"}, ""},
	{"part without a blank line after a folded field", mixedHead + "--XX\nContent-Type: text/plain;\n charset=utf-8\nhello\nx: y\n--XX--\n",
		[]string{"hello\nx: y"}, "hello\nx: y"},
	{"inner multipart without a blank line", mixedHead + "--XX\nContent-Type: multipart/mixed; boundary=YY\n--YY\n\nhello\n--YY--\n--XX--\n",
		[]string{"hello"}, "hello"},
	{"empty", "", []string{""}, ""},
	{"no header", "\nhello\n", nil, "hello\n"},
	{"no body", "Subject: x\n", []string{""}, ""},
	{"header cut off", "Subject: x", []string{""}, ""},
	{"only line ends", "\n\n\n", nil, ""},
	{"mbox From_ line", "From a@b Sat Jan  1 00:00:00 2000\nSubject: x\n\nhello\n", []string{"hello\n"}, "hello\n"},
	{"quoted From_ line", ">From a@b Sat Jan  1 00:00:00 2000\nSubject: x\n\nhello\n", []string{"hello\n"}, "hello\n"},
	{"line without a colon", "Subject: x\nthis is no field\nFrom: a@b\n\nhello\n", []string{"hello\n"}, "hello\n"},
	{"leading space", " folded: nothing\nSubject: x\n\nhello\n", nil, " folded: nothing\nSubject: x\n\nhello\n"},
	{"8-bit field name", "Sujet: x\nObj\xe9t: y\nFrom: a\n\nhello\n", []string{"hello\n"}, "hello\n"},
	{"8-bit field value", "Subject: caf\xe9\n\ncaf\xe9\n", []string{"caf\xe9\n"}, "café\n"},
	{"space before the colon", "Content-Type : text/plain; charset=iso-8859-1\n\ncaf\xe9\n", nil, "café\n"},
	{"bare CR", "Subject: a\rb\r\n\r\nx\ry\r\n", []string{"x\ry\r\n"}, "x\ry\r\n"},
	{"NUL bytes", "Subject: a\x00b\n\nx\x00y\n", []string{"x\x00y\n"}, "x\x00y\n"},
	{"mixed line ends", "Subject: a\r\nFrom: b\n\r\nx\ny\r\n", []string{"x\ny\r\n"}, "x\ny\r\n"},
	{"long line", "Subject: x\n\n" + strings.Repeat("x", 200_000) + "\n", []string{strings.Repeat("x", 200_000) + "\n"}, strings.Repeat("x", 200_000) + "\n"},
	{"long header line", "Subject: " + strings.Repeat("x", 200_000) + "\n\nhello\n", []string{"hello\n"}, "hello\n"},
	{"endless header", strings.Repeat("X-Field: "+strings.Repeat("y", 60)+"\n", 10_000), nil, "*"},
	{"unknown charset", "Content-Type: text/plain; charset=klingon\n\nhello\n", []string{"hello\n"}, "hello\n"},
	{"empty charset", "Content-Type: text/plain; charset=\"\"\n\nGrüße\n", nil, "Grüße\n"},
	{"wrong charset: says ASCII, is UTF-8", "Content-Type: text/plain; charset=us-ascii\n\nGrüße\n", nil, "Grüße\n"},
	{"wrong charset: says UTF-8, is Latin-1", "Content-Type: text/plain; charset=utf-8\n\nGr\xfc\xdfe\n", nil, "Grüße\n"},
	{"utf-7", "Content-Type: text/plain; charset=utf-7\n\nGr+APw-\n", []string{"Gr+APw-\n"}, "Gr+APw-\n"},
	{"koi8-r", "Content-Type: text/plain; charset=koi8-r\n\n\xf0\xf2\n", nil, "ПР\n"},
	{"content type of one word", "Content-Type: text\n\nhello\n", []string{"hello\n"}, "hello\n"},
	{"double semicolon", "Content-Type: text/plain;; charset=iso-8859-1\n\ncaf\xe9\n", nil, "café\n"},
	{"parameter twice", "Content-Type: text/plain; charset=iso-8859-1; charset=utf-8\n\ncaf\xe9\n", nil, "café\n"},
	{"unquoted file name", "Content-Type: image/png; name=my file.png\n\nx\n", []string{"x\n"}, ""},
	{"no closing boundary", mixedHead + "--XX\n\none\n--XX\n\ntwo\n", []string{"one", "two\n"}, "one\n\ntwo\n"},
	{"no boundary at all", mixedHead + "one\ntwo\n", nil, ""},
	{"no boundary parameter", "Content-Type: multipart/mixed\n\n--YY\n\none\n--YY--\n", []string{"one"}, "one"},
	{"boundary with blanks after it", mixedHead + "--XX \t\n\none\n--XX-- \n", []string{"one"}, "one"},
	{"boundary that begins another", "Content-Type: multipart/mixed; boundary=X\n\n--XX\n--X\n\n--XX\n--X--\n", []string{"--XX"}, "--XX"},
	{"preamble of one long line", mixedHead + strings.Repeat("p", 100_000) + "\n--XX\n\none\n--XX--\n", []string{"one"}, "one"},
	{"epilogue", mixedHead + "--XX\n\none\n--XX--\n--XX\nnothing\n", nil, "one"},
	{"part without a header", mixedHead + "--XX\nhello, there\n--XX--\n", []string{"hello, there"}, "hello, there"},
	{"part without an empty line", mixedHead + "--XX\nContent-Type: text/plain\n--XX--\n", []string{""}, ""},
	{"inner multipart not closed", mixedHead + "--XX\nContent-Type: multipart/mixed; boundary=YY\n\n--YY\n\none\n--XX\n\ntwo\n--XX--\n", []string{"one", "two"}, "one\n\ntwo"},
	{"footer after base64", mixedHead + pngPart + "aGVsbG8=\n____________\nlist mailing list\n--XX--\n", []string{"hello"}, ""},
	{"base64 without padding", mixedHead + pngPart + "aGVsbG8\n--XX--\n", []string{"hello"}, ""},
	{"base64 in pieces", mixedHead + pngPart + "aGVs\nbG8=\naGVs\n--XX--\n", []string{"hellohel"}, ""},
	{"base64 indented", mixedHead + pngPart + "  aGVs\n\tbG8=\n--XX--\n", []string{"hello"}, ""},
	{"base64 with a comment", strings.Replace(mixedHead+pngPart, "base64", "base64 (really)", 1) + "aGVsbG8=\n--XX--\n", []string{"hello"}, ""},
	{"base64 that is none", mixedHead + pngPart + "hello, world!\n--XX--\n", []string{""}, ""},
	{"broken quoted-printable", "Content-Transfer-Encoding: quoted-printable\n\na=3Db =ZZ =4 =\nc = d\n=", []string{"a=b =ZZ =4 c = d\n="}, "a=b =ZZ =4 c = d\n="},
	{"unknown encoding", "Content-Transfer-Encoding: rot13\n\nuryyb\n", []string{"uryyb\n"}, "uryyb\n"},
	{"uuencode", "Content-Transfer-Encoding: x-uuencode\n\ntext\nbegin 644 h\n%:&5L;&\\\n`\nend\n", []string{"hello"}, "hello"},
	{"uuencode cut off", "Content-Transfer-Encoding: x-uuencode\n\nbegin 644 h\n%:&5\n", nil, "he@"},
	{"uuencoded body without a word of it", "Subject: h\n\nbegin 644 h\n%:&5L;&\\\n`\nend\n", []string{"begin 644 h\n%:&5L;&\\\n`\nend\n"}, "*"},
	{"yEnc", "Content-Type: image/x; name=h.txt\nContent-Transfer-Encoding: x-yenc\n\n" + yEncoded("hello"), []string{"hello"}, ""},
	{"yEnc body without a word of it", "Subject: h\n\n" + yEncoded("hello"), []string{yEncoded("hello")}, "*"},
	{"only HTML", "Content-Type: text/html\n\n<title>no</title><p>a &lt; b<br>c<script>no</script>", nil, "\na < b\nc"},
	{"HTML before plain text", "Content-Type: multipart/alternative; boundary=XX\n\n--XX\nContent-Type: text/html\n\n<b>one</b>\n--XX\n\nuno\n--XX--\n", []string{"<b>one</b>", "uno"}, "one"},
	{"multipart in base64", "Content-Type: multipart/mixed; boundary=XX\nContent-Transfer-Encoding: base64\n\n--XX\n\none\n--XX--\n", []string{"one"}, "one"},
	{"3,000 levels", nested(3000), nil, "*"},
	{"50 levels", nested(50), []string{"deep"}, "deep"},
	{"10,000 parts", mixedHead + strings.Repeat("--XX\n\n\n", 10_000), nil, "*"},
	{"20,000 fields", strings.Repeat("A: b\n", 20_000) + "\nhello\n", []string{"hello\n"}, "hello\n"},
	{"random bytes", string(bytes.Repeat([]byte{0, 0xff, '\n', '-', '-', ':', '=', 0x80}, 1000)), nil, "*"},
}

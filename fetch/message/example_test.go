package message_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/urlget/urlget/fetch/message"
)

const letter = "From: =?iso-8859-1?Q?J=F6rg?= <joerg@example.org>\r\n" +
	"Content-Type: multipart/mixed; boundary=x\r\n" +
	"\r\n" +
	"--x\r\n" +
	"Content-Type: text/plain; charset=iso-8859-1\r\n" +
	"Content-Transfer-Encoding: quoted-printable\r\n" +
	"\r\n" +
	"Gr=FC=DFe\r\n" +
	"--x\r\n" +
	"Content-Type: image/gif\r\n" +
	"Content-Disposition: attachment; filename=logo.gif\r\n" +
	"Content-Transfer-Encoding: base64\r\n" +
	"\r\n" +
	"R0lGODlh\r\n" +
	"--x--\r\n"

func ExampleText() {
	head, _ := message.SplitHead([]byte(letter))
	fmt.Println(message.Decode(message.ParseHeader(head).Get("From")))
	if _, err := io.Copy(os.Stdout, message.Text(strings.NewReader(letter))); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Jörg <joerg@example.org>
	// Grüße
}

func ExampleParts() {
	for p, err := range message.Parts(strings.NewReader(letter)) {
		if err != nil {
			log.Fatal(err)
		}
		content, err := io.ReadAll(p.Body())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s %q %d bytes\n", p.Number, p.ContentType, p.Name, len(content))
	}
	// Output:
	// 1 text/plain "" 5 bytes
	// 2 image/gif "logo.gif" 6 bytes
}

package gemtext

import (
	"fmt"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	t.Parallel()
	const page = "# Title\r\n####Deep\n* item\n*text\n>  quoted\n=> a.gmi\tA  page \n=>/b\n=>\n=:/post Write\n```x\n=> no\n```\n =>text\n=> last"
	for plain, want := range map[bool]string{
		false: `5.1 "Title"  |5.3 "#Deep"  |6 "item"  |0 "*text"  |7 "quoted"  |1 "a.gmi\tA  page" a.gmi A  page|1 "/b" /b |1 ""  |2 "/post Write" /post Write|3 "x"  |4 "=> no"  |3 ""  |0 " =>text"  |1 "last" last `,
		true: `0 "# Title"  |0 "####Deep"  |0 "* item"  |0 "*text"  |0 ">  quoted"  |1 "a.gmi\tA  page" a.gmi A  page|1 "/b" /b |1 ""  |2 "/post Write" /post Write|0 "` + "```x" +
			`"  |1 "no" no |0 "` + "```" + `"  |0 " =>text"  |1 "last" last `,
	} {
		var got []string
		for line, err := range Lines(strings.NewReader(page), plain) {
			if err != nil {
				t.Fatal(err)
			}
			kind := fmt.Sprint(line.Kind)
			if line.Level > 0 {
				kind += fmt.Sprintf(".%d", line.Level)
			}
			got = append(got, fmt.Sprintf("%s %q %s %s", kind, line.Text, line.Target, line.Name))
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("plain %v: got\n%s\nwant\n%s", plain, text, want)
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	n := 0
	for line, err := range Lines(strings.NewReader("=> "+strings.Repeat("x", 3*MaxLink)+"\n=> y"), false) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; line.Kind != Link || line.Cut != (n == 1) || len(line.Text) > MaxLink || (line.Target == "") != line.Cut {
			t.Errorf("line %d is of kind %d, cut: %v, with %d bytes", n, line.Kind, line.Cut, len(line.Text))
		}
	}
	if n != 2 {
		t.Errorf("%d lines", n)
	}
}

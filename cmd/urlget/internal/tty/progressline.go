package tty

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

const minBar = 10 // columns, including its ends

// fit returns the richest of the texts that leaves room for a bar in the given number of columns.
func fit(room int, texts ...string) string {
	for _, text := range texts {
		if columns(text)+1+minBar <= room {
			return strings.TrimRight(text, " ")
		}
	}
	return texts[len(texts)-1]
}

// filledBar returns a bar of the given width in columns, including its ends, filled up to share. It
// returns "" if the width is less than minBar.
func filledBar(share float64, columns int, paint Painter) string {
	room := columns - 2
	if room < 1 {
		return ""
	}
	full := int(share * float64(room))
	bar := strings.Repeat("=", full)
	if full > 0 && full < room {
		bar = bar[1:] + ">"
	}
	return "[" + paint.Good(bar) + strings.Repeat(" ", room-full) + "]"
}

func movingBlock(elapsed time.Duration, columns int) string {
	const block = "<=>"
	room := columns - 2 - len(block)
	if room < 1 {
		return ""
	}
	at := int(elapsed/frameTime) % (2 * room)
	if at > room {
		at = 2*room - at
	}
	return "[" + strings.Repeat(" ", at) + block + strings.Repeat(" ", room-at) + "]"
}

// columns returns the width of s on a terminal, in columns. Color sequences in s have no width.
func columns(s string) int {
	n, color := 0, false
	for _, r := range s {
		switch {
		case r == '\x1b':
			color = true
		case color:
			color = r != 'm'
		default:
			n += runeColumns(r)
		}
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// wrap breaks lines longer than most columns at blanks and indents continuation lines. A longer word
// is not broken, so that it can be copied.
func wrap(text string, most int) string {
	const indent = "  "
	var b strings.Builder
	for line := range strings.Lines(text) {
		if columns(strings.TrimSuffix(line, "\n")) <= most {
			b.WriteString(line)
			continue
		}
		room := most
		for i, word := range strings.Split(line, " ") {
			width := columns(strings.TrimSuffix(word, "\n"))
			switch {
			case i == 0:
				room -= width
			case width+1 <= room:
				b.WriteByte(' ')
				room -= width + 1
			default:
				b.WriteString("\n" + indent)
				room = most - len(indent) - width
			}
			b.WriteString(word)
		}
	}
	return b.String()
}

// cut shortens s to the given number of columns by omitting its middle, because names often differ
// at the end.
func cut(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	if most < 1 {
		return ""
	}
	runes := []rune(s)
	head, tail, room := 0, len(runes), most-1
	for fromHead := true; ; fromHead = !fromHead {
		next := runes[tail-1]
		if fromHead {
			next = runes[head]
		}
		if room -= runeColumns(next); room < 0 {
			return string(runes[:head]) + "…" + string(runes[tail:])
		}
		if fromHead {
			head++
		} else {
			tail--
		}
	}
}

var sizeUnits = []string{"B", "KiB", "MiB", "GiB", "TiB"}

func scale(n float64) (unit string, bytes float64) {
	i, bytes := 0, 1.0
	for n >= 1024*bytes && i < len(sizeUnits)-1 {
		i, bytes = i+1, bytes*1024
	}
	return sizeUnits[i], bytes
}

// SizeWord formats a number of bytes with a unit.
func SizeWord(n float64) string {
	unit, bytes := scale(n)
	return sizeNumber(n, bytes) + " " + unit
}

func sizeNumber(n, unit float64) string {
	if unit == 1 {
		return strconv.Itoa(int(n))
	}
	return strconv.FormatFloat(n/unit, 'f', 1, 64)
}

// progressSize formats how much of total is done, in a single unit; total is negative if unknown.
func progressSize(done, total int64) string {
	if total < 0 {
		return SizeWord(float64(done))
	}
	unit, bytes := scale(float64(total))
	whole := strings.TrimSuffix(sizeNumber(float64(total), bytes), ".0")
	return sizeNumber(float64(done), bytes) + " of " + whole + " " + unit
}

// WaitTime formats a waiting time.
func WaitTime(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return shortTime(d)
	case d < 100*time.Millisecond:
		return "a moment"
	}
	return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
}

func shortTime(d time.Duration) string {
	s := int(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	case s < 100*3600:
		return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d days", s/86400)
}

package serve_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A color is in OKLCH: lightness, chroma and hue in degrees. A hue of less than 0 is that of the host.
type color [3]float64

// luminance returns the relative luminance of WCAG 2, of the nearest color in sRGB.
func (c color) luminance() float64 {
	sin, cos := math.Sincos(c[2] * math.Pi / 180)
	a, b := c[1]*cos, c[1]*sin
	l := math.Pow(c[0]+0.3963377774*a+0.2158037573*b, 3)
	m := math.Pow(c[0]-0.1055613458*a-0.0638541728*b, 3)
	s := math.Pow(c[0]-0.0894841775*a-1.2914855480*b, 3)
	clip := func(v float64) float64 { return min(max(v, 0), 1) }
	return 0.2126*clip(4.0767416621*l-3.3077115913*m+0.2309699292*s) + 0.7152*clip(-1.2684380046*l+2.6097574011*m-0.3413193965*s) +
		0.0722*clip(-0.0041960863*l-0.7034186147*m+1.7076147010*s)
}

func contrast(a, b color) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// tokens returns the colors of the style sheet by name, in light and in dark mode, and the hues of hosts.
func tokens(t *testing.T) (colors map[string][2]color, hues []float64) {
	text, err := os.ReadFile("static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		if s == "var(--hue)" {
			return -1
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	colors = make(map[string][2]color)
	oklch := `oklch\(([\d.]+) ([\d.]+) ([\d.]+|var\(--hue\))\)`
	for _, m := range regexp.MustCompile(`--(\w+): light-dark\(`+oklch+`, `+oklch+`\)`).FindAllStringSubmatch(string(text), -1) {
		colors[m[1]] = [2]color{{number(m[2]), number(m[3]), number(m[4])}, {number(m[5]), number(m[6]), number(m[7])}}
	}
	for _, m := range regexp.MustCompile(`--hue: (\d+);`).FindAllStringSubmatch(string(text), -1) {
		hues = append(hues, number(m[1]))
	}
	if n := strings.Count(string(text), "light-dark("); n != len(colors) {
		t.Errorf("%d of %d tokens are understood", len(colors), n)
	}
	return colors, hues
}

func TestContrastIsThatOfTheMathematics(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b color
		want float64
	}{
		{color{0, 0, 0}, color{1, 0, 0}, 21},
		{color{0.5998708, 0, 0}, color{1, 0, 0}, 3.95},                            // #808080
		{color{0.62796, 0.25768, 29.23}, color{1, 0, 0}, 4.0},                     // #ff0000
		{color{0.45201, 0.31321, 264.05}, color{1, 0, 0}, 8.59},                   // #0000ff
		{color{0.86644, 0.29483, 142.495}, color{0.45201, 0.31321, 264.05}, 6.26}, // #00ff00 on #0000ff
	} {
		if got := contrast(tt.a, tt.b); math.Abs(got-tt.want) > 0.02 {
			t.Errorf("%v on %v: %.2f, want %.2f", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestTokensHaveContrast(t *testing.T) {
	t.Parallel()
	colors, hues := tokens(t)
	if len(hues) != 13 {
		t.Errorf("%d hues", len(hues))
	}
	at := func(name string, mode int, hue float64) color {
		c, ok := colors[name]
		if !ok {
			t.Fatalf("there is no token %s", name)
		}
		if c[mode][2] < 0 {
			c[mode][2] = hue
		}
		return c[mode]
	}
	for _, pair := range []struct {
		marks, grounds string
		want           float64
	}{
		{"ink", "paper panel tint mark", 7},
		{"soft link seen warn", "paper panel tint mark", 4.5},
		{"paper", "host", 4.5}, // the main button
		{"host edge", "paper panel tint", 3},
	} {
		for mode, name := range []string{"light", "dark"} {
			for _, hue := range hues {
				for _, mark := range strings.Fields(pair.marks) {
					for _, ground := range strings.Fields(pair.grounds) {
						if got := contrast(at(mark, mode, hue), at(ground, mode, hue)); got < pair.want {
							t.Errorf("%s on %s, %s, hue %.0f: %.2f, want %.1f", mark, ground, name, hue, got, pair.want)
						}
					}
				}
			}
		}
	}
}

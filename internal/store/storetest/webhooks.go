package storetest

import (
	"fmt"
	"time"

	"fika"
	"fika/internal/store"
)

// refusals returns number, state and error of what a receiver has refused.
func (w *world) refusals(url string, again bool) (out []string) {
	w.Helper()
	for _, v := range must(w.Deliveries(w.ctx, url, again))(w) {
		out = append(out, words(v.N, v.State, v.Error))
	}
	return out
}

var webhookTests = map[string]func(*world){
	"a new receiver begins behind what was committed, and continues where it was": func(w *world) {
		w.chat("room")
		from := w.now()
		got := must(w.Webhook(w.ctx, "https://a"))(w)
		equal(w, "new", words(got.URL, got.Place, got.Tries, got.Delivered.IsZero(), got.Next.IsZero()), words("https://a", from, 0, true, true))
		w.chat("other")
		got.Place, got.Tries, got.Error = w.now(), 3, "HTTP 500"
		got.Delivered, got.Failing, got.Next = w.clock.Now(), w.clock.Now().Add(time.Second), w.clock.Now().Add(time.Minute)
		w.ok(w.KeepWebhook(w.ctx, got))
		again := must(w.Webhook(w.ctx, "https://a"))(w)
		equal(w, "kept", words(again.Place, again.Tries, again.Error), words(got.Place, 3, "HTTP 500"))
		for what, pair := range map[string][2]time.Time{"delivered": {again.Delivered, got.Delivered}, "failing": {again.Failing, got.Failing}, "next": {again.Next, got.Next}} {
			equal(w, what, pair[0].UnixMilli(), pair[1].UnixMilli())
		}
		w.ok(second(w.Webhook(w.ctx, "https://b")))
		list := must(w.ListWebhooks(w.ctx))(w)
		equal(w, "all", words(len(list), list[0].URL, list[1].URL), "2 https://a https://b")
	},
	"what is refused is kept until it is taken, and sent again when a person says so": func(w *world) {
		a, b := must(w.Webhook(w.ctx, "https://a"))(w), must(w.Webhook(w.ctx, "https://b"))(w)
		refuse := func(at store.WebhookState, n int64, why string) store.Delivery {
			v := store.Delivery{URL: at.URL, N: n, ID: fmt.Sprint(at.URL, "#", n), Body: "{}", Error: why}
			at.Tries = int(n)
			w.ok(w.RefuseDelivery(w.ctx, at, v))
			return v
		}
		refuse(a, 7, "HTTP 400")
		last := refuse(a, 8, "HTTP 410")
		refuse(b, 7, "HTTP 404")
		equal(w, "how it stands, with it", must(w.Webhook(w.ctx, "https://a"))(w).Tries, 8)
		equal(w, "of one", words(w.refusals("https://a", false)), "[7 failed HTTP 400 8 failed HTTP 410]")
		equal(w, "of all", len(w.refusals("", false)), 3)
		w.refused(second(w.RetryDeliveries(w.ctx, "nobody")), fika.NotFound)
		a.Next = w.clock.Now().Add(time.Hour)
		w.ok(w.KeepWebhook(w.ctx, a))
		equal(w, "one", must(w.RetryDeliveries(w.ctx, last.ID))(w), int64(1))
		equal(w, "at once", must(w.Webhook(w.ctx, "https://a"))(w).Next.IsZero(), true)
		equal(w, "again", words(w.refusals("https://a", true)), "[8 again HTTP 410]")
		refuse(a, 8, "HTTP 410, again") // it is one row
		equal(w, "refused again", words(w.refusals("https://a", false)), "[7 failed HTTP 400 8 failed HTTP 410, again]")
		equal(w, "all", must(w.RetryDeliveries(w.ctx, ""))(w), int64(3))
		w.ok(w.EndDelivery(w.ctx, last))
		equal(w, "taken", words(w.refusals("", true)), "[7 again HTTP 400 7 again HTTP 404]")
	},
	"of what a receiver refuses the newest thousand are kept": func(w *world) {
		a, b := must(w.Webhook(w.ctx, "https://a"))(w), must(w.Webhook(w.ctx, "https://b"))(w)
		w.ok(w.RefuseDelivery(w.ctx, b, store.Delivery{URL: b.URL, N: 1, ID: "b", Body: "{}"}))
		for n := range int64(1003) {
			w.ok(w.RefuseDelivery(w.ctx, a, store.Delivery{URL: a.URL, N: n + 1, ID: fmt.Sprint(n), Body: "{}"}))
		}
		list := must(w.Deliveries(w.ctx, "https://a", false))(w)
		equal(w, "kept", words(len(list), list[0].N, list[999].N, len(w.refusals("https://b", false))), "1000 4 1003 1")
	},
}

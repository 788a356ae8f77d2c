import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.Security;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

/** BouncyCastle: a JSON request per line in, a JSON answer per line out (see ../../README.md). */
final class Partner {
    /** The library looked at the input and said that it is not valid. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(Object why) {
            super(String.valueOf(why));
        }
    }

    interface Ask {
        JsonObject answer(JsonObject request) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        Map<String, Ask> asks = new TreeMap<>();
        asks.putAll(Tokens.ASKS);
        asks.putAll(Certificates.ASKS);
        asks.putAll(Messages.ASKS);
        asks.put("hello", request -> hello(asks));
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            System.out.println(reply(asks, JsonParser.parseString(line).getAsJsonObject()));
        }
    }

    private static JsonObject hello(Map<String, Ask> asks) {
        JsonObject said = new JsonObject();
        said.addProperty("version", Security.getProvider("BC").getVersionStr().replaceFirst("0+$", ""));
        said.addProperty("engine", "its own");
        said.add("asks", texts(List.copyOf(asks.keySet())));
        said.add("writes", texts(Tokens.FORMS));
        said.add("reads", texts(Tokens.FORMS));
        said.add("judges", texts(List.of("seed", "pem")));
        said.add("composites", texts(Composite.NAMES));
        said.add("certificates", texts(Certificates.COMPOSITES));
        return said;
    }

    private static JsonObject reply(Map<String, Ask> asks, JsonObject request) {
        String ask = text(request, "ask");
        try {
            return asks.get(ask).answer(request);
        } catch (Refused refusal) {
            return said("refused", refusal.getMessage());
        } catch (Exception error) {
            return said("error", error.toString());
        }
    }

    static String text(JsonObject request, String name) {
        return request.has(name) && !request.get(name).isJsonNull() ? request.get(name).getAsString() : null;
    }

    /** An answer of names and texts in turn. */
    static JsonObject said(String... words) {
        JsonObject answer = new JsonObject();
        for (int i = 0; i < words.length; i += 2) {
            answer.addProperty(words[i], words[i + 1]);
        }
        return answer;
    }

    static JsonArray texts(List<String> all) {
        JsonArray array = new JsonArray();
        all.forEach(array::add);
        return array;
    }

    private Partner() {}
}
